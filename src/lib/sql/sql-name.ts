/** A name as SQL reads it literally: in double quotes, inner quotes doubled. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteNames(names: readonly string[]): string {
  return names.map(quoteName).join(', ');
}
