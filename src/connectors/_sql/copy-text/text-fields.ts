/** Rows in the text form of COPY: fields with a tab between them, each row ended by a line feed. */

const TAB = 9;
const NEWLINE = 10;
const BACKSLASH = 92;
const NULL_MARK = 78;

/** The one-byte escapes of COPY; any other character means itself. */
const UNESCAPED: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The text of a field, as the server would have sent it in a row. */
export function fieldText(row: Buffer, from: number, to: number): string {
  const text = row.toString('utf8', from, to);
  return text.includes('\\')
    ? text.replace(/\\(.)/gs, (_pair, char: string) => UNESCAPED[char] ?? char)
    : text;
}

export function isNullField(row: Uint8Array, from: number, to: number): boolean {
  return to - from === 2 && row[from] === BACKSLASH && row[from + 1] === NULL_MARK;
}

/** Where the field that starts at `from` ends: at a tab or at the end of its row. */
export function fieldEnd(rows: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = rows[at];
    if (byte === TAB || byte === NEWLINE || byte === undefined) return at;
    at += 1;
  }
}

/**
 * An object puts names that look like numbers first and drops duplicate names; such rows are
 * converted through records.
 */
export function keepsColumnOrder(columns: readonly { readonly name: string }[]): boolean {
  const names = columns.map((column) => column.name);
  return new Set(names).size === names.length && !names.some((name) => /^\d+$/.test(name));
}
