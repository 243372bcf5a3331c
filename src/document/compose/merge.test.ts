import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { mergeTrees } from './merge.ts';

/** A value that is no mapping, and the keys that lead to it. */
interface Leaf {
  readonly path: string;
  readonly text: string;
}

function leaves(value: JsonValue, path = ''): Leaf[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [{ path, text: JSON.stringify(value) }];
  return Object.entries(value).flatMap(([key, item]) => leaves(item, `${path}/${key}`));
}

/**
 * The rule seen from the leaves: all of the upper tree, and those of the lower one that stand
 * neither above nor below them.
 */
function model(lower: JsonObject, upper: JsonObject): Leaf[] {
  const over = leaves(upper);
  const isTaken = ({ path }: Leaf): boolean =>
    over.some(
      (leaf) =>
        leaf.path === path || leaf.path.startsWith(`${path}/`) || path.startsWith(`${leaf.path}/`),
    );
  return [...leaves(lower).filter((leaf) => !isTaken(leaf)), ...over];
}

const sorted = (list: readonly Leaf[]): string[] =>
  list.map(({ path, text }) => `${path} = ${text}`).sort();

const tree = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, 1, 'x', true),
    fc.array(fc.integer(), { maxLength: 2 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), tie('value'), {
    minKeys: 1,
    maxKeys: 3,
  }),
})).object;

test('mappings merge key by key, everything else is replaced, and the inputs stay as they are', () => {
  fc.assert(
    fc.property(tree, tree, (lower, upper) => {
      const before = JSON.stringify([lower, upper]);
      expect(sorted(leaves(mergeTrees(lower, upper)))).toEqual(sorted(model(lower, upper)));
      expect(JSON.stringify([lower, upper])).toBe(before);
    }),
  );
});

test('merging with nothing changes nothing', () => {
  fc.assert(
    fc.property(tree, (one) => {
      expect(mergeTrees({}, one)).toEqual(one);
      expect(mergeTrees(one, {})).toEqual(one);
    }),
  );
});

test('lists are taken whole, null replaces', () => {
  expect(
    mergeTrees({ a: [1, 2], b: { c: 1 }, d: { e: 1 } }, { a: [3], b: null, d: { f: 2 } }),
  ).toEqual({
    a: [3],
    b: null,
    d: { e: 1, f: 2 },
  });
});

test('settings of one type are not those of another that is laid over it', () => {
  const csv = { type: 'csv', config: { path: 'a', delimiter: ';' } };
  expect(mergeTrees({ sink: csv }, { sink: { type: 'jsonl', config: { path: 'b' } } })).toEqual({
    sink: { type: 'jsonl', config: { path: 'b' } },
  });
  expect(mergeTrees({ sink: csv }, { sink: { type: 'stdout' } })).toEqual({
    sink: { type: 'stdout' },
  });
  expect(mergeTrees(csv, { type: 'csv', config: { path: 'b' } })).toEqual({
    type: 'csv',
    config: { path: 'b', delimiter: ';' },
  });
});

test('within settings, a type takes nothing from the fields of another one', () => {
  const rest = {
    type: 'rest',
    status: 'active',
    config: {
      path: '/a',
      auth: { type: 'bearer', token: 'one' },
      pagination: { type: 'PageNumber', param: 'page' },
    },
  };
  expect(
    mergeTrees(rest, {
      config: {
        auth: { type: 'basic', username: 'u' },
        pagination: { type: 'page_number', start: 0 },
      },
    }),
  ).toEqual({
    type: 'rest',
    status: 'active',
    config: {
      path: '/a',
      auth: { type: 'basic', username: 'u' },
      pagination: { type: 'page_number', param: 'page', start: 0 },
    },
  });
  expect(mergeTrees({ type: 'a', k: 1 }, { type: 'b', l: 1 }, 'settings')).toEqual({
    type: 'b',
    l: 1,
  });
  expect(mergeTrees({ type: 'a', tags: ['x'] }, { type: 'b' })).toEqual({ type: 'b', tags: ['x'] });
});
