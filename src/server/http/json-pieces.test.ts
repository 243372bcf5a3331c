import { expect, test } from 'vitest';
import { itemPieces, jsonPieces, type LongJson } from './json-pieces.ts';

async function textOf(parts: LongJson): Promise<{ text: string; pieces: number }> {
  const pieces: string[] = [];
  for await (const piece of jsonPieces(parts))
    pieces.push(typeof piece === 'string' ? piece : Buffer.from(piece).toString());
  return { text: pieces.join(''), pieces: pieces.length };
}

test.each([
  [{}, {}, '{"rows":[1,2,3]}'],
  [{ a: 1 }, {}, '{"a":1,"rows":[1,2,3]}'],
  [{}, { z: null }, '{"rows":[1,2,3],"z":null}'],
  [{ a: 'x' }, { z: [] }, '{"a":"x","rows":[1,2,3],"z":[]}'],
])('a list between %j and %j', async (before, after, text) => {
  const items = ['1,2', Buffer.from('3')];
  expect((await textOf({ before, name: 'rows', items, after })).text).toBe(text);
});

test('an empty list', async () => {
  const parts = { before: {}, name: 'edges', items: itemPieces([]), after: {} };
  expect((await textOf(parts)).text).toBe('{"edges":[]}');
});

test('a long list is made in pieces, and others have their turn in between', async () => {
  const list = Array.from({ length: 1001 }, (_, i) => ({ i, text: `"${i}` }));
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const made = await textOf({ before: {}, name: 'l', items: itemPieces(list), after: {} });
  isOver = true;
  expect(JSON.parse(made.text)).toEqual({ l: list });
  expect(made.pieces).toBeGreaterThan(6);
  expect(turns).toBeGreaterThanOrEqual(6);
});
