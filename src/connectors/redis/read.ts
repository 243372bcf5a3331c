/** Lists, streams and keys, read from their beginning to their end. */
import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError, isTransient } from '../../lib/errors.ts';
import { rememberSpelling } from '../../lib/text/number-spelling.ts';
import { setField, type JsonObject } from '../../lib/text/json.ts';
import type { Sized } from '../_files/lines/cut-pages.ts';
import { jsonOrText, textOf } from '../_brokers/payload.ts';
import { readAgain } from '../_brokers/read-again.ts';
import { Window } from '../_brokers/window.ts';
import type { RedisSourceConfig } from './config.ts';
import type { RedisLink } from './link.ts';

export interface ReadSetup {
  readonly link: RedisLink;
  readonly config: RedisSourceConfig;
  readonly context: SourceContext;
  /** Records wanted at most. */
  readonly limit: number;
}

export function recordsOf(setup: ReadSetup): AsyncGenerator<Sized[]> {
  const type = setup.config.source_type;
  switch (type.type) {
    case 'List':
      return elements(setup, type.key);
    case 'Stream':
      return entries(setup, type);
    default:
      return values(setup, type.pattern);
  }
}

async function* elements(setup: ReadSetup, key: string): AsyncGenerator<Sized[]> {
  const { link, context, config, limit } = setup;
  const again = readAgain(context);
  const window = new Window(config.batch_size || Infinity, context.pageBytes);
  const doing = `the list \`${key}\` cannot be read`;
  for (let from = 0; from < limit;) {
    const count = Math.min(window.size, limit - from);
    const found = await again(() =>
      link.run(doing, (redis) => redis.lrangeBuffer(key, from, from + count - 1)),
    );
    yield found.map((bytes, index) => ({
      value: jsonOrText(textOf(bytes, `element ${from + index} of the list \`${key}\``)),
      size: bytes.length + 1,
    }));
    window.seen(found.length, bytesIn(found));
    from += found.length;
    if (found.length < count) return;
  }
}

async function* entries(
  setup: ReadSetup,
  { key, count }: { readonly key: string; readonly count?: number | undefined },
): AsyncGenerator<Sized[]> {
  const { link, context, config, limit } = setup;
  const again = readAgain(context);
  const window = new Window(count ?? (config.batch_size || Infinity), context.pageBytes);
  const doing = `the stream \`${key}\` cannot be read`;
  let after = '-';
  for (let read = 0; read < limit;) {
    const wanted = Math.min(window.size, limit - read);
    const found = await again(() =>
      link.run(doing, (redis) => redis.xrangeBuffer(key, after, '+', 'COUNT', wanted)),
    );
    const records = found.map(([id, fields]) => entryOf(id, fields, key));
    if (records.length > 0) yield records;
    window.seen(records.length, sizeOf(records));
    read += found.length;
    const last = found.at(-1);
    if (found.length < wanted || last === undefined) return;
    after = `(${last[0].toString()}`;
  }
}

/** `{id, fields}` with its size. */
export function entryOf(id: Buffer, flat: readonly Buffer[], key: string): Sized {
  const fields: JsonObject = {};
  const where = `entry ${id.toString()} of the stream \`${key}\``;
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const name = textOf(flat[at] as Buffer, `a field of ${where}`);
    const text = textOf(flat[at + 1] as Buffer, `a value of ${where}`);
    const value = jsonOrText(text);
    setField(fields, name, value);
    if (typeof value === 'number' && String(value) !== text.trim())
      rememberSpelling(fields, name, text.trim());
  }
  return { value: { id: id.toString(), fields }, size: bytesIn(flat) + 40 + 6 * flat.length };
}

async function* values(setup: ReadSetup, pattern: string): AsyncGenerator<Sized[]> {
  const { link, context, config } = setup;
  const again = readAgain(context);
  const window = new Window(config.batch_size || Infinity, context.pageBytes);
  const others = new Map<string, number>();
  const doing = `the keys \`${pattern}\` cannot be read`;
  await again(() => refuseCluster(link, doing));
  let cursor = '0';
  do {
    const [next, keys] = await again(() =>
      link.run(doing, (redis) => redis.scanBuffer(cursor, 'MATCH', pattern, 'COUNT', 1000)),
    );
    cursor = next.toString();
    for (let from = 0; from < keys.length;) {
      const some = keys.slice(from, from + window.size);
      from += some.length;
      const records = await again(() => valuesOf(link, some, { doing, others }));
      if (records.length > 0) yield records;
      window.seen(records.length, sizeOf(records));
    }
  } while (cursor !== '0');
  for (const [type, count] of others)
    context.env.log.warn('keys of the pattern that hold no text are left out', { type, count });
}

/** A server of a cluster lists its own keys, and says nothing of those of the others. */
export async function refuseCluster(link: RedisLink, doing: string): Promise<void> {
  const told = await link
    .run(doing, (redis) => redis.info('cluster'))
    .catch((error: unknown) => {
      // A user or a service without this command may still have all keys.
      if (error instanceof ConnectorError && !isTransient(error.kind)) return '';
      throw error;
    });
  if (!/^cluster_enabled:1\r?$/m.test(told)) return;
  throw new ConnectorError(
    'refused',
    `${doing}: the server belongs to a Redis Cluster, and lists only the keys that it holds itself`,
    { hint: 'keep what is read together in a stream or a list, and read that by its key' },
  );
}

interface Keys {
  readonly doing: string;
  /** How many keys hold something else, by its type. */
  readonly others: Map<string, number>;
}

async function valuesOf(
  link: RedisLink,
  keys: readonly Buffer[],
  { doing, others }: Keys,
): Promise<Sized[]> {
  const found = await link.run(doing, (redis) => redis.mgetBuffer([...keys]));
  const without = keys.filter((_, index) => found[index] === null);
  const types = await link.run(doing, (redis) =>
    Promise.all(without.map((key) => redis.type(key))),
  );
  for (const type of types)
    // What has vanished since it was listed has no type.
    if (type !== 'none') others.set(type, (others.get(type) ?? 0) + 1);
  return keys.flatMap((bytes, index): Sized[] => {
    const stored = found[index] ?? null;
    if (stored === null) return [];
    const key = textOf(bytes, 'a key of the pattern');
    const record = { key, value: jsonOrText(textOf(stored, `the value of \`${key}\``)) };
    return [{ value: record, size: bytes.length + stored.length + 20 }];
  });
}

function bytesIn(list: readonly Buffer[]): number {
  return list.reduce((sum, bytes) => sum + bytes.length, 0);
}

function sizeOf(records: readonly Sized[]): number {
  return records.reduce((sum, { size = 0 }) => sum + size, 0);
}
