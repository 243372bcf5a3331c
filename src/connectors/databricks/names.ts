/** Names and texts as statements of this database read them. */

export function backticked(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '\0': '\\0',
  // `${name}` in a statement is replaced before it is parsed.
  '${': '\\u0024{',
};

/** A text in a statement. Two quotes in a row would end it: a backslash begins an escape. */
export function literal(text: string): string {
  return `'${escaped(text)}'`;
}

/** A part of such a text. */
export function escaped(text: string): string {
  return text.replaceAll(/\\|'|\0|\$\{/g, (found) => ESCAPES[found] ?? found);
}

export interface TablePlace {
  readonly catalog?: string | undefined;
  readonly schema?: string | undefined;
  readonly table: string;
}

/** `table`, `schema.table` or `catalog.schema.table`; a part in backticks may have dots. */
const PARTS = /^(?:`(?:[^`]|``)+`|[^`.\s][^`.]*)(?:\.(?:`(?:[^`]|``)+`|[^`.\s][^`.]*)){0,2}$/;
const PART = /`(?:[^`]|``)+`|[^`.]+/g;

export function isTableName(written: string): boolean {
  return PARTS.test(written);
}

/** Where a table is: what its name says comes before `catalog` and `schema` of the config. */
export function tablePlace({ catalog, schema, table: written }: TablePlace): TablePlace {
  const parts = (written.match(PART) ?? [written]).map((part) =>
    part.startsWith('`') ? part.slice(1, -1).replaceAll('``', '`') : part,
  );
  const [table = written, ownSchema = schema, ownCatalog = catalog] = parts.toReversed();
  return { catalog: ownCatalog, schema: ownSchema, table };
}

/** The name of a table of the same place for statements. */
export function tableSql({ catalog, schema, table }: TablePlace): string {
  const parts = catalog !== undefined && schema !== undefined ? [catalog, schema] : [schema];
  return [...parts, table]
    .filter((part) => part !== undefined)
    .map(backticked)
    .join('.');
}
