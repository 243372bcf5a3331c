/** The contract of a state store (`src/kit/state-store.ts`), clause by clause. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { STATE_KEY, type StateStoreDefinition } from '../../../src/kit/state-store.ts';
import type { JsonValue } from '../../../src/lib/text/json.ts';
import type { StateClause } from './clause.ts';
import { putAndKill } from './killed-store.ts';
import { StateSubject, type StateFixture } from './subject.ts';

const VALUES: readonly JsonValue[] = [
  null,
  true,
  0,
  'x',
  9_007_199_254_740_993n,
  [1, { a: 'ü\n' }],
  { __svc_eo: 1, bookmark: { at: 1.5 }, seq: 3 },
];

const LOOK_ALIKE_KEYS = [
  'suite::a:b',
  'suite::a%3Ab',
  'suite::a/b',
  'suite::a=b&c',
  'suite::A:b',
  `suite::${'x'.repeat(240)}1`,
  `suite::${'x'.repeat(240)}2`,
];

const asking = (token: string) => ({ token, ttlMs: 60_000, holder: { name: token, since: 1 } });

export const STATE_CLAUSES: readonly StateClause[] = [
  {
    name: 'absent',
    title: 'has no value for a key that was never put',
    check: (subject) =>
      subject.using(async (store) => assert.equal(await store.get('suite::never'), undefined)),
  },
  {
    name: 'values',
    title: 'gives every value back as it was put, through another handle too',
    async check(subject) {
      for (const [index, value] of VALUES.entries()) {
        await subject.using((store) => store.put(`suite::${index}`, value));
        await subject.using(async (store) =>
          assert.deepEqual(await store.get(`suite::${index}`), value),
        );
      }
    },
  },
  {
    name: 'seen',
    title: 'shows a value to others as soon as `put` returned, before it is closed',
    check: (subject) =>
      subject.using(async (store) => {
        await store.put('suite::seen', 1);
        await subject.using(async (other) => assert.equal(await other.get('suite::seen'), 1));
        await store.delete('suite::seen');
        await subject.using(async (other) =>
          assert.equal(await other.get('suite::seen'), undefined),
        );
      }),
  },
  {
    name: 'last',
    title: 'keeps the last value of a key, and none after a delete, which may be repeated',
    check: (subject) =>
      subject.using(async (store) => {
        await store.put('suite::last', 1);
        await store.put('suite::last', 2);
        assert.equal(await store.get('suite::last'), 2);
        await store.delete('suite::last');
        await store.delete('suite::last');
        assert.equal(await store.get('suite::last'), undefined);
      }),
  },
  {
    name: 'keys',
    title: 'keeps keys apart that look alike',
    check: (subject) =>
      subject.using(async (store) => {
        for (const key of LOOK_ALIKE_KEYS) assert.match(key, STATE_KEY);
        for (const [index, key] of LOOK_ALIKE_KEYS.entries()) await store.put(key, index);
        for (const [index, key] of LOOK_ALIKE_KEYS.entries())
          assert.equal(await store.get(key), index, `the value of ${key}`);
      }),
  },
  {
    name: 'entries',
    title: 'lists what stands below a key in order, without leases, and by names that it takes',
    check: (subject) =>
      subject.using(async (store) => {
        const from = Date.now();
        const long = `suite::list::${'x/'.repeat(100)}`;
        const below = ['a::1', 'a=1&b=%41', 'e:f', 'e/f'];
        const keys = ['suite::list', ...below.map((part) => `suite::list::${part}`), long];
        for (const other of ['suite::lis', 'suite::list2', 'suite::LIST::a', 'other::suite::list'])
          await store.put(other, 0);
        for (const key of keys) await store.put(key, { key });
        await store.lease('suite::list::a::1', asking('a'));
        const entries = await store.entries('suite::list');
        const names = entries.map(({ key, isCut }) => (isCut === true ? long : key));
        assert.deepEqual(names, keys.toSorted());
        for (const { key, at } of entries) {
          assert.ok(at === undefined || Math.abs(at.getTime() - from) < 3_600_000, `${key}: ${at}`);
          await subject.using((other) => other.delete(key));
        }
        assert.deepEqual(await store.entries('suite::list'), []);
        assert.equal(await store.get(long), undefined, 'a listed name is not that of its value');
        assert.equal(await store.get('suite::list2'), 0, 'more than that was deleted');
        assert.deepEqual(await store.entries('suite::list_'), []);
      }),
  },
  {
    name: 'race',
    title: 'lets one of many writers of a key win, whole',
    check: (subject) =>
      subject.using(async (store) => {
        const writes = Array.from({ length: 20 }, (_, index) =>
          store.put('suite::race', { index, again: index }),
        );
        await Promise.all(writes);
        const value = (await store.get('suite::race')) as { index: number; again: number };
        assert.ok(Number.isInteger(value.index));
        assert.equal(value.index, value.again, 'the value is of two writers');
      }),
  },
  {
    name: 'kill',
    title: 'keeps what was put and deleted when its process is killed',
    inapplicable: ({ definition }) =>
      definition.durable ? undefined : 'forgets everything with its process',
    async check(subject) {
      await subject.using((store) => store.put('suite::gone', 1));
      const { type } = subject.definition;
      await putAndKill({
        type,
        config: subject.config,
        put: { 'suite::kept': [1, 2], 'suite::new': 'x' },
        remove: ['suite::gone'],
      });
      await subject.using(async (store) => {
        assert.deepEqual(await store.get('suite::kept'), [1, 2]);
        assert.equal(await store.get('suite::new'), 'x');
        assert.equal(await store.get('suite::gone'), undefined);
        await store.put('suite::kept', 3);
        assert.equal(await store.get('suite::kept'), 3);
      });
    },
  },
  {
    name: 'lease',
    title: 'leases a key to one token until it is released, and names the holder to others',
    check: (subject) =>
      subject.using(async (store) => {
        const key = 'suite::lease';
        await store.put(key, 'the value');
        assert.equal((await store.lease(key, asking('a'))).token, 'a');
        assert.equal((await store.lease(key, asking('a'))).token, 'a', 'it cannot be renewed');
        await subject.using(async (other) => {
          const held = await other.lease(key, asking('b'));
          assert.deepEqual([held.token, held.holder], ['a', { name: 'a', since: 1 }]);
          assert.ok(held.remainingMs > 50_000 && held.remainingMs <= 60_000, `${held.remainingMs}`);
          await other.release(key, 'b');
          assert.equal((await other.lease(key, asking('b'))).token, 'a', 'others can end it');
          assert.equal((await other.lease(`${key}2`, asking('b'))).token, 'b');
          await store.release(key, 'a');
          await store.release(key, 'a');
          assert.equal((await other.lease(key, asking('b'))).token, 'b');
        });
        assert.equal(await store.get(key), 'the value');
      }),
  },
  {
    name: 'lease_end',
    title: 'gives a lease that has ended, or is known to be over, to the next one',
    check: (subject) =>
      subject.using(async (store) => {
        const key = 'suite::lease_end';
        const ttlMs = 2000;
        await store.lease(key, { ...asking('a'), ttlMs });
        assert.equal((await store.lease(key, asking('b'))).token, 'a');
        await sleep(ttlMs + 100);
        assert.equal((await store.lease(key, asking('b'))).token, 'b');
        assert.equal((await store.lease(key, asking('a'))).token, 'b', 'the old holder has it too');
        assert.equal((await store.lease(key, { ...asking('c'), instead: 'a' })).token, 'b');
        assert.equal((await store.lease(key, { ...asking('c'), instead: 'b' })).token, 'c');
      }),
  },
  {
    name: 'held',
    title:
      'stores a value only for whoever has the lease, and does not give it back to who lost it',
    check: (subject) =>
      subject.using(async (store) => {
        const key = 'suite::held';
        const put = (token: string, value: number): Promise<boolean> =>
          store.putHeld(key, value, { lease: key, token });
        assert.equal(await put('a', 0), false, 'nobody has the lease');
        await store.lease(key, asking('a'));
        assert.equal(await put('a', 1), true);
        assert.equal((await store.lease(key, { ...asking('a'), renews: true })).token, 'a');
        await subject.using((other) => other.lease(key, { ...asking('b'), instead: 'a' }));
        assert.equal(await put('a', 2), false, 'another one has it');
        assert.equal((await store.lease(key, { ...asking('a'), renews: true })).token, 'b');
        assert.equal(await put('b', 3), true);
        assert.equal(await store.get(key), 3);
        await store.release(key, 'b');
        assert.equal((await store.lease(key, { ...asking('a'), renews: true })).token, '');
        assert.equal(await put('a', 4), false, 'nobody has it any more');
        assert.equal(await store.get(key), 3);
      }),
  },
  {
    name: 'delete_held',
    title: 'deletes a value only for whoever has the lease',
    check: (subject) =>
      subject.using(async (store) => {
        const key = 'suite::delete_held';
        const remove = (token: string): Promise<boolean> =>
          store.deleteHeld(`${key}::below`, { lease: key, token });
        await store.put(`${key}::below`, 1);
        assert.equal(await remove('a'), false, 'nobody has the lease');
        await store.lease(key, asking('a'));
        await subject.using((other) => other.lease(key, { ...asking('b'), instead: 'a' }));
        assert.equal(await remove('a'), false, 'another one has it');
        assert.equal(await store.get(`${key}::below`), 1);
        for (const time of ['once', 'again']) {
          assert.equal(await remove('b'), true, `deleted ${time}`);
          assert.equal(await store.get(`${key}::below`), undefined);
        }
      }),
  },
  {
    name: 'lease_race',
    title: 'leases a key to one of many who ask at once, also when an old lease has ended',
    check: (subject) =>
      subject.using(async (store) => {
        const key = 'suite::lease_race';
        for (const ttlMs of [1, 60_000]) {
          const others = await Promise.all(Array.from({ length: 4 }, () => subject.open()));
          const answers = await Promise.all(
            others.flatMap((other, at) =>
              [0, 1, 2].map(async (time) => {
                const token = `${ttlMs}-${at}-${time}`;
                const { token: holder } = await other.lease(key, { ...asking(token), ttlMs });
                return { token, holder };
              }),
            ),
          );
          const won = answers.filter(({ token, holder }) => token === holder);
          // One that lasts a millisecond may end before the last one asks.
          if (ttlMs > 1) assert.equal(won.length, 1, `${won.length} have it`);
          assert.ok(won.length > 0);
          for (const other of others) await other.close();
          await sleep(5);
        }
        assert.notEqual((await store.lease(key, asking('late'))).token, 'late');
      }),
  },
  {
    name: 'close',
    title: 'can be closed twice',
    async check(subject) {
      const store = await subject.open();
      await store.put('suite::close', 1);
      await store.close();
      await store.close();
      await subject.using(async (other) => assert.equal(await other.get('suite::close'), 1));
    },
  },
];

/** Throws when the store breaks the clause; gives the reason when the clause does not apply. */
export async function holdStoreTo(
  clause: StateClause,
  definition: StateStoreDefinition,
  fixture: StateFixture,
): Promise<string | undefined> {
  const subject = new StateSubject(definition, await fixture.fresh());
  const reason = clause.inapplicable?.(subject);
  if (reason === undefined) await clause.check(subject);
  return reason;
}
