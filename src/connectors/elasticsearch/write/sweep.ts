/** Removes the documents that no longer exist at the source. */
import type { Sweep } from '../../../kit/sink.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { step } from '../link.ts';
import { fieldsOf, mappingsOf } from '../mapping.ts';
import { complete, hitsOf, NOTHING_LESS } from '../read/answers.ts';
import { idOf, sendChanges, type Bulk, type Change } from './bulk.ts';

const AT_ONCE = 5000;
const KEEP = '5m';

export async function sweepIndex(
  bulk: Bulk,
  { key }: { readonly key: readonly string[] },
  { scope, keys }: Sweep,
): Promise<number> {
  const filter = await scopeFilter(bulk, [...Object.keys(scope), ...key], scope);
  if (filter === undefined) return 0;
  const seen = new Set(
    keys.map((values) => idOf(Object.fromEntries(key.map((name, at) => [name, values[at]])), key)),
  );
  // All are found before the first is removed: a search that fails removes nothing.
  const gone: Change[] = [];
  for await (const ids of idsIn(bulk, filter))
    for (const id of ids) if (!seen.has(id)) gone.push({ index: gone.length, op: 'delete', id });
  const refused = await sendChanges(bulk, gone);
  const [first] = refused;
  if (first !== undefined)
    throw new ConnectorError(
      'data',
      `documents of \`${bulk.index}\` that no longer exist at the source cannot be removed: ${first.error.message}`,
    );
  if (gone.length > 0)
    await bulk.link.ask({ method: 'POST', path: `${step(bulk.index)}/_refresh` });
  return gone.length;
}

/** `undefined` where the index is not there. A name that is wrong would find nothing, or everything. */
async function scopeFilter(
  { link, index }: Bulk,
  names: readonly string[],
  scope: JsonObject,
): Promise<JsonValue | undefined> {
  const found = await link.find({ method: 'GET', path: `${step(index)}/_mapping` });
  if (found === undefined) return undefined;
  const fields = new Map(
    mappingsOf(found).flatMap((mapping) => fieldsOf(mapping).map((field) => [field.name, field])),
  );
  // Without a field there has been no document.
  if (fields.size === 0) return undefined;
  for (const name of names)
    if (!fields.has(name))
      throw new ConnectorError(
        'missing',
        `\`${index}\` has no field \`${name}\`, which is needed to find documents that no longer exist at the source`,
        { hint: 'name fields that are written' },
      );
  const terms = Object.entries(scope).map(([name, value]) => ({
    term: { [fields.get(name)?.exact ?? name]: { value } },
  }));
  return { bool: { filter: terms } };
}

async function* idsIn({ link, index }: Bulk, query: JsonValue): AsyncGenerator<string[]> {
  let place: string | undefined;
  try {
    let answer = await link.ask({
      method: 'POST',
      path: `${step(index)}/_search`,
      query: [['scroll', KEEP], NOTHING_LESS],
      json: { size: AT_ONCE, sort: ['_doc'], _source: false, query },
    });
    for (;;) {
      const { _scroll_id: told } = answer;
      if (typeof told === 'string') place = told;
      const ids = hitsOf(complete(answer)).flatMap(({ _id: id }) =>
        typeof id === 'string' ? [id] : [],
      );
      if (ids.length === 0 || place === undefined) return;
      yield ids;
      const json = { scroll: KEEP, scroll_id: place };
      answer = await link.ask({
        method: 'POST',
        path: '_search/scroll',
        json,
        isRepeatable: false,
      });
    }
  } finally {
    if (place !== undefined)
      await link
        .ask({ method: 'DELETE', path: '_search/scroll', json: { scroll_id: [place] } })
        .catch(() => {});
  }
}
