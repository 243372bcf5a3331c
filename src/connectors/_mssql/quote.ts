/** Names and texts in statements of SQL Server. */

/** A name as the server reads it literally, whatever its settings. */
export function bracketed(name: string): string {
  return `[${name.replaceAll(']', ']]')}]`;
}

export function bracketedList(names: readonly string[]): string {
  return names.map(bracketed).join(', ');
}

/** A text inside of a statement. */
export function textLiteral(text: string): string {
  return `N'${text.replaceAll("'", "''")}'`;
}

export interface TableName {
  /** Absent: the default schema of the user. */
  readonly schema?: string;
  readonly table: string;
}

/** `schema.table`, each part also in brackets or double quotes; a dot inside of these is a letter. */
export function parseTable(written: string): TableName {
  const parts = [...written.matchAll(PART)].map(([, bracket, quote, plain = '']) =>
    bracket !== undefined ? bracket.replaceAll(']]', ']') : (quote?.replaceAll('""', '"') ?? plain),
  );
  const whole = [...written.matchAll(PART)].map(([text]) => text).join('.');
  if (whole !== written || parts.length > 2 || parts.includes('')) return { table: written };
  const [first = '', second] = parts;
  return second === undefined ? { table: first } : { schema: first, table: second };
}

const PART = /\[((?:[^\]]|\]\])+)\]|"((?:[^"]|"")+)"|([^.[\]"]+)/g;

/** The table for statements. */
export function tableSql({ schema, table }: TableName): string {
  return schema === undefined ? bracketed(table) : `${bracketed(schema)}.${bracketed(table)}`;
}
