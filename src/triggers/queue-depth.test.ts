import { describe, expect, test } from 'vitest';
import { check } from '../kit/schema.ts';
import { uuidIds } from '../lib/ids.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { queueDepth, watchDepth, type QueueDepth } from './queue-depth.ts';
import { areBrokers } from '../lib/kafka/kafka.ts';

const redis = { type: 'redis', url: 'redis://localhost', key: 'orders' };

function configOf(fields: object): QueueDepth {
  const checked = check(queueDepth.fields(), { queue: redis, ...fields });
  if (!checked.ok) throw new Error(checked.issues.map(({ path }) => path).join(' '));
  return checked.value as QueueDepth;
}

/** What each depth starts, a second after the one before; events are taken unless said otherwise. */
async function keysAt(
  fields: object,
  depths: readonly number[],
  { taken = () => true, from }: { taken?: (n: number) => boolean; from?: JsonValue } = {},
) {
  let now = Date.parse('2026-08-01T12:00:00Z');
  let depth = 0;
  const context = { name: 'long', clock: { now: () => new Date(now) }, ids: uuidIds };
  const watcher = watchDepth(configOf(fields), context, () => Promise.resolve(depth));
  const { signal } = new AbortController();
  let memory = from;
  const keys: string[] = [];
  for (const [n, at] of depths.entries()) {
    depth = at;
    const look = await watcher.look({ memory, awaySince: undefined, signal });
    keys.push(look.events.map((event) => `${event.key} at ${event.value('depth')}`).join() || '-');
    memory = look.memoryAfter(taken(n) ? look.events.length : 0);
    now += 1000;
  }
  return { keys, memory };
}

const edge = (n: number, depth: number): string => `trig:long:edge:${n} at ${depth}`;

describe('a queue', () => {
  test('that becomes long starts one run, until it was short again', async () => {
    expect((await keysAt({ threshold: 5 }, [0, 9, 9, 0, 7])).keys).toEqual([
      '-',
      edge(1, 9),
      '-',
      '-',
      edge(2, 7),
    ]);
  });

  test('that is long at the first look starts a run', async () => {
    expect((await keysAt({ threshold: 5 }, [5, 6])).keys).toEqual([edge(1, 5), '-']);
  });

  test('whose run found no room starts it later, with the same key', async () => {
    const { keys } = await keysAt({ threshold: 5 }, [5, 7, 8], { taken: (n) => n > 0 });
    expect(keys).toEqual([edge(1, 5), edge(1, 7), '-']);
  });

  test('around its threshold starts runs only after it was as short as `rearm_below` says', async () => {
    const fields = { threshold: 5, rearm_below: 2 };
    expect((await keysAt(fields, [5, 4, 5, 2, 6, 1, 4, 5])).keys).toEqual([
      edge(1, 5),
      '-',
      '-',
      '-',
      '-',
      '-',
      '-',
      edge(2, 5),
    ]);
  });

  test('that becomes long again soon starts its run when `cooldown_secs` are over', async () => {
    expect((await keysAt({ cooldown_secs: 4 }, [1, 0, 1, 1, 1, 1])).keys).toEqual([
      edge(1, 1),
      '-',
      '-',
      '-',
      edge(2, 1),
      '-',
    ]);
  });

  test('of another name begins anew, and never with a number that was used', async () => {
    const { memory = null } = await keysAt({}, [1]);
    expect((await keysAt({}, [1], { from: memory })).keys).toEqual(['-']);
    const other = { queue: { ...redis, key: 'others' } };
    expect((await keysAt(other, [1], { from: memory })).keys).toEqual([edge(2, 1)]);
  });
});

test.each([
  [{ rearm_below: 2 }, 'rearm_below'],
  [{ queue: { ...redis, url: 'http://localhost' } }, 'queue.url'],
  [{ queue: { type: 'kafka', brokers: 'a b', topic: 't', group: 'g' } }, 'queue.brokers'],
])('the fields %j are refused', (fields, path) => {
  expect(() => configOf(fields)).toThrow(path);
});

test.each([
  ['a', true],
  ['a:9092, b.c:1', true],
  ['[::1]:9092', true],
  ['', false],
  ['a:0', false],
  ['a:70000', false],
  ['a,,b', false],
  ['http://a', false],
])('brokers %j: %s', (text, expected) => {
  expect(areBrokers(text)).toBe(expected);
});

test('a password in the address is a secret, an address is none', () => {
  const secretsOf = (url: string) => queueDepth.secrets(configOf({ queue: { ...redis, url } }));
  expect(secretsOf('redis://localhost')).toEqual([]);
  expect(secretsOf('redis://:a%20b@localhost')).toEqual([
    'redis://:a%20b@localhost',
    'a%20b',
    'a b',
  ]);
});
