/** Texts as statements of this database read them. A backslash begins an escape here. */
export function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
