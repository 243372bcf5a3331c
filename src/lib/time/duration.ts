const UNIT_SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

type DurationUnit = keyof typeof UNIT_SECONDS;

export interface Duration {
  readonly amount: number;
  /** Absent when only a number is written: it counts seconds. */
  readonly unit?: DurationUnit;
}

/** Reads `45s`, `30m`, `6h`, `1.5d`, `2w` or a number of seconds; `undefined` for anything else. */
export function parseDuration(text: string | number): Duration | undefined {
  const [, digits, unit] = /^\s*(\d+(?:\.\d+)?)\s*([smhdw]?)\s*$/.exec(String(text)) ?? [];
  const amount = Number(digits);
  if (!Number.isFinite(amount)) return undefined;
  return unit === '' ? { amount } : { amount, unit: unit as DurationUnit };
}

/** A day counts 24 hours here, and a week 7 of these days. */
export function secondsOf({ amount, unit = 's' }: Duration): number {
  return amount * UNIT_SECONDS[unit];
}
