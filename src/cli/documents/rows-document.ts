/** A document with a row for each data set of its source; everything else of it stays as written. */
import path from 'node:path';
import { parseDocument } from 'yaml';
import type { Format } from '../../document/parse/parse.ts';
import { rowId, shortName } from '../../document/text/row-names.ts';
import type { Discovered } from '../../kit/source.ts';
import {
  isObject,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';

export interface RowsRequest {
  readonly text: string;
  readonly format: Format;
  readonly found: readonly Discovered[];
  /** The preset of the source that the rows read. */
  readonly preset: string | undefined;
}

/** Fields of sinks by which each row gets a destination of its own. */
const DESTINATIONS = ['table_name', 'table', 'collection', 'topic', 'subject', 'index'] as const;

export function rowsDocument({ text, format, found, preset }: RowsRequest): string {
  const tree = (format === 'json' ? parseJson(text) : parseDocument(text).toJS()) as JsonValue;
  const pipeline = isObject(tree) && isObject(tree['pipeline']) ? tree['pipeline'] : {};
  const ids = new Set<string>();
  const names = found.map(({ name }) => shortName(name));
  const matrix = found.map((one): JsonObject => {
    const id = rowId(one.name, ids);
    const short = shortName(one.name);
    // Tables of one name in two schemas must not end in one table.
    const isUnique = names.indexOf(short) === names.lastIndexOf(short);
    const sink = destinationOf(pipeline['sink'], isUnique ? short : id, id);
    const source: JsonObject = { config: one.config_patch };
    return {
      id,
      source: preset === undefined ? source : { ref: preset, ...source },
      ...(sink === undefined ? {} : { sink: { config: sink } }),
    };
  });
  if (format === 'json')
    return `${stringifyJson({ ...(isObject(tree) ? tree : {}), matrix }, 2)}\n`;
  const document = parseDocument(text);
  document.set('matrix', document.createNode(matrix));
  return document.toString({ lineWidth: 0 });
}

/** Undefined where the sink needs none, or says itself where its rows go. */
function destinationOf(
  sink: JsonValue | undefined,
  name: string,
  id: string,
): JsonObject | undefined {
  const config = isObject(sink) && isObject(sink['config']) ? sink['config'] : {};
  const field = DESTINATIONS.find((one) => typeof config[one] === 'string');
  if (field !== undefined) return { [field]: name };
  const { path: file } = config;
  if (typeof file !== 'string' || file.includes('${')) return undefined;
  const { dir, ext } = path.parse(file);
  return { path: path.join(dir, `${id}${ext}`) };
}
