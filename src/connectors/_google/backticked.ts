/** A name in a statement of GoogleSQL. */
export function backticked(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}
