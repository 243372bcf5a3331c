const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/**
 * `45s`, `30m`, `6h`, `30d`, `2w` or a number of seconds, as seconds; `undefined` when it is none
 * of these or not positive.
 */
export function parseDuration(value: number | string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([smhdw]?)\s*$/.exec(String(value));
  if (match === null) return undefined;
  const seconds = Number(match[1]) * (UNITS[match[2] ?? ''] ?? 1);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}
