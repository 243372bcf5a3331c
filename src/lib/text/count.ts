/** `1,234,567` */
export function thousands(value: number): string {
  // Plain text work: the first use of a locale takes as long as the rest of a small run.
  return String(Math.round(value)).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `1 record`, `2,000 records` */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${thousands(number)} ${number === 1 ? noun : plural}`;
}

/** `820 ms`, `4.2 s`, `3 min 5 s` */
export function seconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
