/** `1,234,567` */
export function thousands(value: number): string {
  // Plain text work: the first use of a locale takes as long as the rest of a small run.
  return String(Math.round(value)).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `1 record`, `2,000 records` */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${thousands(number)} ${number === 1 ? noun : plural}`;
}
