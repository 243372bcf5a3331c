import { describe, expect, test } from 'vitest';
import { check } from '../kit/schema.ts';
import type { Look } from '../kit/trigger.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { objectArrival, watchObjects, type ObjectArrival } from './object-arrival.ts';
import type { StoredObject } from '../lib/objects/object-store.ts';

const START = Date.parse('2026-08-01T12:00:00Z');

function configOf(fields: object): ObjectArrival {
  const checked = check(objectArrival.fields(), { store: { type: 's3', bucket: 'b' }, ...fields });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as ObjectArrival;
}

/** A bucket that is looked at by several servers with one memory. */
function bucket(fields: object = {}) {
  const objects = new Map<string, StoredObject>();
  let memory: JsonValue | undefined;
  const look = (awaySince?: Date): Promise<Look> => {
    const watcher = watchObjects(configOf(fields), 'new', {
      async *list() {
        // Any order, in pages.
        const all = [...objects.values()].toReversed();
        for (let at = 0; at < all.length; at += 2) yield all.slice(at, at + 2);
      },
    });
    const { signal } = new AbortController();
    return watcher.look({ memory, awaySince, signal });
  };
  return {
    put: (key: string, second: number, version = 'v1') =>
      void objects.set(key, {
        key,
        size: 1,
        lastModified: new Date(START + second * 1000),
        version,
      }),
    look,
    /** Keys of the events, the first `taken` of which start runs. */
    fire: async (taken = Number.POSITIVE_INFINITY, awaySince?: Date): Promise<string[]> => {
      const found = await look(awaySince);
      memory = JSON.parse(
        JSON.stringify(found.memoryAfter(Math.min(taken, found.events.length))),
      ) as JsonValue;
      return found.events.map(({ key }) => key.slice('trig:new:'.length));
    },
    get memory() {
      return memory;
    },
  };
}

const at = (key: string, second: number): string =>
  `b:${key}:${new Date(START + second * 1000).toISOString()}`;

describe('objects one by one', () => {
  test('start runs in the order of their times, those before the first look none', async () => {
    const { put, fire } = bucket();
    put('old', 0);
    expect(await fire()).toEqual([]);
    put('c', 3);
    put('b', 2);
    put('a', 3);
    expect(await fire()).toEqual([at('b', 2), at('a', 3), at('c', 3)]);
    expect(await fire()).toEqual([]);
  });

  test('that found no room are found again, and no others', async () => {
    const { put, fire } = bucket({ start_at: 'beginning' });
    for (const [n, key] of ['a', 'b', 'c', 'd'].entries()) put(key, n < 2 ? 1 : 2);
    expect(await fire(1)).toHaveLength(4);
    expect(await fire(2)).toEqual([at('b', 1), at('c', 2), at('d', 2)]);
    expect(await fire()).toEqual([at('d', 2)]);
  });

  test('that appear late are not lost, as long as they are not too late', async () => {
    const { put, fire } = bucket({ late_secs: 60 });
    put('first', 0);
    await fire();
    put('newest', 1000);
    expect(await fire()).toEqual([at('newest', 1000)]);
    put('late', 941);
    put('too-late', 940);
    expect(await fire()).toEqual([at('late', 941)]);
    expect(await fire()).toEqual([]);
  });

  test('that are stored again start another run, also within the same second', async () => {
    const { put, fire } = bucket();
    await fire();
    put('a', 1);
    expect(await fire()).toEqual([at('a', 1)]);
    put('a', 2);
    expect(await fire()).toEqual([at('a', 2)]);
    put('a', 2, '"v-2"');
    expect(await fire()).toEqual([`${at('a', 2)}:v-2`]);
    expect(await fire()).toEqual([]);
  });

  test('that came while the store was away count, where they came after the start', async () => {
    const { put, fire } = bucket();
    put('before', -1);
    put('after', 0);
    expect(await fire(9, new Date(START + 500))).toEqual([at('after', 0)]);
  });

  test('of another prefix begin anew', async () => {
    const one = bucket();
    one.put('a', 1);
    await one.fire();
    const other = watchObjects(
      configOf({ store: { type: 's3', bucket: 'b', prefix: 'x' } }),
      'new',
      {
        async *list() {
          yield [{ key: 'x', size: 1, lastModified: new Date(START + 9000), version: '' }];
        },
      },
    );
    const { signal } = new AbortController();
    const look = await other.look({ memory: one.memory, awaySince: undefined, signal });
    expect(look.events).toEqual([]);
  });

  test('remember no more than those within the window', async () => {
    const { put, fire, look } = bucket({ start_at: 'beginning', late_secs: 10 });
    for (let n = 0; n < 500; n += 1) put(`k${n}`, n);
    await fire();
    const { recent } = (await look()).memoryAfter(0) as { recent: object };
    expect(Object.keys(recent)).toHaveLength(10);
  });
});

describe('objects together', () => {
  test('start one run, with the time of the newest in its key', async () => {
    const { put, fire, look } = bucket({ mode: 'batch', start_at: 'beginning' });
    put('a', 1);
    put('b', 2);
    const [event] = (await look()).events;
    expect([event?.value('object_count'), event?.value('bucket')]).toEqual(['2', 'b']);
    expect(await fire()).toEqual(['2026-08-01T12:00:02.000Z']);
    expect(await fire()).toEqual([]);
  });

  test('that appear with a time that had its run have a key of their own', async () => {
    const { put, fire } = bucket({ mode: 'batch', start_at: 'beginning' });
    put('a', 2);
    expect(await fire(0)).toEqual(['2026-08-01T12:00:02.000Z']);
    expect(await fire()).toEqual(['2026-08-01T12:00:02.000Z']);
    put('b', 2);
    put('late', 1);
    const [key] = await fire(0);
    expect(key).toMatch(/^2026-08-01T12:00:02\.000Z:[\da-f]{16}$/);
    expect(await fire()).toEqual([key]);
    expect(await fire()).toEqual([]);
  });
});
