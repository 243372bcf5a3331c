import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../lib/errors.ts';
import { STATE_KEY } from '../../kit/state-store.ts';
import { fakeSink, fakeSource, fakeState, part, plannedRow } from '../../../test/fakes/plan.ts';
import {
  dimensionPartOf,
  firstIteration,
  invocationName,
  keyPartOf,
  SINGLE_ITERATION,
  rowOfInvocation,
  stateKeyOf,
  type Iteration,
} from './iteration.ts';

const row = plannedRow(fakeSource([]), fakeSink().definition, {
  id: 'posts',
  state: part(fakeState(new Map())),
  stateKey: 'test::posts',
});
const iteration = (key: string, chunk?: string): Iteration => ({
  ...SINGLE_ITERATION,
  key,
  keyPart: keyPartOf(key),
  chunk,
});

describe('the state key of an invocation', () => {
  test('is the one of the row, with parent key and chunk behind it', () => {
    expect(stateKeyOf(row, SINGLE_ITERATION)).toBe('test::posts');
    expect(stateKeyOf(row, iteration('b c'))).toBe('test::posts::b%20c');
    expect(stateKeyOf(row, { ...SINGLE_ITERATION, chunk: '007' })).toBe(
      'test::posts::partition::007',
    );
    expect(stateKeyOf(row, iteration('a', '0'))).toBe('test::posts::a::partition::0');
  });

  test('that is too long for a store is refused, unless nothing is stored', () => {
    expect(() => stateKeyOf(row, iteration('x'.repeat(300)))).toThrow(ConfigError);
    expect(stateKeyOf({ ...row, state: undefined }, iteration('x'.repeat(300)))).toHaveLength(313);
  });
});

test('outcomes name a chunk after its row', () => {
  expect([invocationName(row, SINGLE_ITERATION), invocationName(row, iteration('a', '3'))]).toEqual(
    ['posts', 'posts::partition::3'],
  );
});

test('the row of an invocation is known from its name, whatever rows are called', () => {
  const rowOf = (name: string): string =>
    rowOfInvocation(name, (id) => ['posts', 'a::partition::b'].includes(id));
  expect(
    ['posts', 'posts::partition::3', 'a::partition::b', 'a::partition::b::partition::0'].map(rowOf),
  ).toEqual(['posts', 'posts', 'a::partition::b', 'a::partition::b']);
});

describe('a text inside a state key', () => {
  test('keeps what keys may hold and encodes the rest, apostrophes and pictures too', () => {
    expect(keyPartOf("it's 100%/🙂")).toBe('it%27s%20100%25/%F0%9F%99%82');
    expect(dimensionPartOf('a=b&c/d')).toBe('a%3Db%26c/d');
  });

  test('always fits the keys of stores, and different texts stay different', () => {
    const texts = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        expect(`k${keyPartOf(one)}`).toMatch(STATE_KEY);
        expect(keyPartOf(one) === keyPartOf(other)).toBe(one === other);
        expect(`a=${dimensionPartOf(one)}&b=${dimensionPartOf(other)}`.split('&')).toHaveLength(2);
      }),
    );
  });
});

describe('the iteration by which a row is tried out', () => {
  const chunks = [{ id: '0', tokens: { offset: 0 } }];
  const partition = {
    path: 'partition',
    spec: { kind: 'offset', total: 1, chunk_size: 1 },
    chunks,
    probe: undefined,
  } as const;

  test('is its only one, or the first chunk', () => {
    expect(firstIteration(row)).toBe(SINGLE_ITERATION);
    expect(firstIteration({ id: 'a', partition })).toMatchObject({
      chunk: '0',
      records: new Map([['partition', { offset: 0 }]]),
    });
  });

  test('is not there where the chunks are not known, or there are none', () => {
    expect(() =>
      firstIteration({ id: 'a', partition: { ...partition, chunks: undefined } }),
    ).toThrow('discovered at run time');
    expect(() => firstIteration({ id: 'a', partition: { ...partition, chunks: [] } })).toThrow(
      'is empty',
    );
  });
});
