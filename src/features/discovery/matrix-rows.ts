/** The rows of a matrix that move data sets which a source has listed. */
import path from 'node:path';
import { rowId, shortName } from '../../document/text/row-names.ts';
import { deepEscapes, withEscapes } from '../../document/tokens/tokens.ts';
import type { Discovered } from '../../kit/source.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export interface RowsRequest {
  readonly tree: JsonValue;
  readonly found: readonly Discovered[];
  /** The preset of the source that the rows read. */
  readonly preset: string | undefined;
  /** Ids that rows have already. */
  readonly taken?: Iterable<string>;
}

/** Fields of sinks by which each row gets a destination of its own. */
const DESTINATIONS = ['table_name', 'table', 'collection', 'topic', 'subject', 'index'] as const;

export function matrixRows({ tree, found, preset, taken = [] }: RowsRequest): JsonObject[] {
  const pipeline = isObject(tree) && isObject(tree['pipeline']) ? tree['pipeline'] : {};
  const ids = new Set(taken);
  const names = found.map(({ name }) => shortName(name));
  const counts = Map.groupBy(names, (name) => name);
  return found.map((one, index): JsonObject => {
    const id = rowId(one.name, ids);
    const short = names[index] ?? one.name;
    // Tables of one name in two schemas must not end in one table.
    const isUnique = counts.get(short)?.length === 1;
    const sink = destinationOf(pipeline['sink'], isUnique ? short : id, id);
    // Names of tables are no tokens.
    const source: JsonObject = { config: deepEscapes(one.config_patch) };
    return {
      id,
      source: preset === undefined ? source : { ref: preset, ...source },
      ...(sink === undefined ? {} : { sink: { config: sink } }),
    };
  });
}

/** Undefined where the sink needs none, or says itself where its rows go. */
function destinationOf(
  sink: JsonValue | undefined,
  name: string,
  id: string,
): JsonObject | undefined {
  const config = isObject(sink) && isObject(sink['config']) ? sink['config'] : {};
  const field = DESTINATIONS.find((one) => typeof config[one] === 'string');
  if (field !== undefined) return { [field]: withEscapes(name) };
  const { path: file } = config;
  if (typeof file !== 'string' || file.includes('${')) return undefined;
  const { dir, ext } = path.parse(file);
  return { path: path.join(dir, `${id}${ext}`) };
}
