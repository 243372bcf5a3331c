import type { SourceContext } from '../../../kit/context.ts';
import type { Discovered } from '../../../kit/source.ts';
import { isObject, type JsonObject } from '../../../lib/text/json.ts';
import type { ElasticsearchSourceConfig } from '../config.ts';
import { Link, step } from '../link.ts';
import { fieldsOf, mappingsOf } from '../mapping.ts';

/** One data set for each index that is not the server's own. */
export async function discoverIndexes(
  config: ElasticsearchSourceConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  const link = await Link.open(config, context);
  try {
    const listed = await link.list('_cat/indices', [
      ['format', 'json'],
      ['h', 'index,docs.count'],
    ]);
    const found: Discovered[] = [];
    for (const entry of listed.sort((one, other) => compared(nameOf(one), nameOf(other))))
      if (!nameOf(entry).startsWith('.')) found.push(await described(link, entry));
    return found;
  } finally {
    await link.close();
  }
}

async function described(link: Link, entry: JsonObject): Promise<Discovered> {
  const name = nameOf(entry);
  const [mapping = {}] = mappingsOf(
    await link.ask({ method: 'GET', path: `${step(name)}/_mapping` }),
  );
  const properties: JsonObject = {};
  // A field takes a list of its values, too.
  for (const { name: field, type } of fieldsOf(mapping))
    properties[field] = { type: [type, 'array', 'null'] };
  const count = Number(entry['docs.count']);
  return {
    name,
    kind: 'index',
    schema: { type: 'object', properties },
    ...(Number.isSafeInteger(count) ? { estimated_rows: count } : {}),
    config_patch: { index: name },
  };
}

function nameOf(entry: JsonObject): string {
  return isObject(entry) && typeof entry['index'] === 'string' ? entry['index'] : '';
}

function compared(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
