/** Names and texts inside of statements. */

export function backticked(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}

export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** `table` or `database.table`. */
export function tableName(table: string): string {
  return table.split('.', 2).length === 2
    ? `${backticked(table.slice(0, table.indexOf('.')))}.${backticked(table.slice(table.indexOf('.') + 1))}`
    : backticked(table);
}
