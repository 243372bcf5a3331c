import { expect, test } from 'vitest';
import { SOUGHT, soughtHint } from '../kit/sought-types.ts';
import { SINKS, SOURCES } from './index.ts';

const TYPES = [...SOURCES, ...SINKS].flatMap(({ type, aliases = [] }) => [type, ...aliases]);

test('every word for a connector leads to one that there is, and none is its name', () => {
  expect([...SOUGHT.values()].flat().filter((type) => !TYPES.includes(type))).toEqual([]);
  expect([...SOUGHT.keys()].filter((word) => word !== 'http' && TYPES.includes(word))).toEqual([]);
});

test('the hint names those that can stand there', () => {
  const sources = SOURCES.map(({ type }) => type);
  expect(soughtHint('JSON', sources)).toBe('did you mean `jsonl` or `file`?');
  expect(soughtHint('http', sources)).toBe('did you mean `rest`?');
  expect(
    soughtHint(
      'mongo',
      SINKS.map(({ type }) => type),
    ),
  ).toBe('did you mean `mongodb`?');
  expect(soughtHint('constructor', sources)).toBeUndefined();
});
