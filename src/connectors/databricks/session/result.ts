/** What the answers of the API say of a result. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';

export interface ColumnInfo {
  readonly name: string;
  /** In upper case, without limits: `DECIMAL`. The list of such names in the API lacks some. */
  readonly type: string;
  /** As in a statement: `DECIMAL(10,2)`. */
  readonly text: string;
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
}

export type ResultRow = readonly (string | null)[];

export interface Manifest {
  readonly columns: readonly ColumnInfo[];
  readonly rows: number | undefined;
  readonly isTruncated: boolean;
}

export function manifestIn(answer: JsonObject): Manifest {
  const { manifest } = answer;
  const about = isObject(manifest) ? manifest : {};
  const { schema, total_row_count: rows, truncated } = about;
  const columns = isObject(schema) ? schema['columns'] : undefined;
  return {
    columns: (Array.isArray(columns) ? columns : [])
      .filter(isObject)
      .toSorted((a, b) => Number(a['position'] ?? 0) - Number(b['position'] ?? 0))
      .map(columnOf),
    rows: rows === undefined || rows === null ? undefined : Number(jsonText(rows)),
    isTruncated: truncated === true,
  };
}

function columnOf(info: JsonObject): ColumnInfo {
  const { name = null, type_name: type = null, type_text: text = type } = info;
  const number = (value: JsonValue | undefined): number | undefined =>
    typeof value === 'number' ? value : undefined;
  const [, digits, decimals] = /^decimal\((\d+), ?(\d+)\)$/i.exec(jsonText(text)) ?? [];
  return {
    name: jsonText(name),
    type: (/^\w+/.exec(jsonText(text))?.[0] ?? jsonText(type)).toUpperCase(),
    text: jsonText(text),
    precision:
      number(info['type_precision']) ?? (digits === undefined ? undefined : Number(digits)),
    scale: number(info['type_scale']) ?? (decimals === undefined ? undefined : Number(decimals)),
  };
}

/** One part of a result: its rows as the answer has them, or a link to them. */
export interface Chunk {
  readonly data: JsonValue | undefined;
  readonly link?: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly next: number | undefined;
}

export function chunkIn(result: JsonValue | undefined): Chunk {
  const about = isObject(result) ? result : {};
  const { data_array: data, external_links: links } = about;
  const [link] = Array.isArray(links) ? links.filter(isObject) : [];
  const { next_chunk_index: next = link?.['next_chunk_index'] } = about;
  const base = { data, next: typeof next === 'number' ? next : undefined };
  if (link === undefined) return base;
  const { external_link: url = null, http_headers: headers } = link;
  return {
    ...base,
    link: {
      url: jsonText(url),
      headers: Object.fromEntries(
        Object.entries(isObject(headers) ? headers : {}).map(([name, value]) => [
          name,
          jsonText(value ?? null),
        ]),
      ),
    },
  };
}

export function rowsIn(data: JsonValue | undefined): readonly ResultRow[] {
  if (data === undefined || data === null) return [];
  if (!Array.isArray(data)) throw unreadable();
  return data.map((row) => {
    if (!Array.isArray(row)) throw unreadable();
    return row.map((cell) => (cell === null ? null : jsonText(cell)));
  });
}

function unreadable(): ConnectorError {
  return new ConnectorError('data', 'a part of the result is no list of rows');
}
