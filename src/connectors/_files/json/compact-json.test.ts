import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, stringifyJson } from '../../../lib/text/json.ts';
import { CompactJson } from './compact-json.ts';

/** Whether a line may be passed on as it is. */
function isCompact(line: string, reader = new CompactJson()): boolean {
  const bytes = Buffer.from(`x${line}\n`);
  const end = reader.lineEnd(bytes, 1);
  if (end !== -1) expect(end).toBe(bytes.length - 1);
  return end !== -1;
}

/** What the line becomes when it is parsed and written; `undefined` when it is not JSON. */
function rewritten(line: string): string | undefined {
  try {
    return stringifyJson(parseJson(line));
  } catch {
    return undefined;
  }
}

const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.constantFrom('0', '00', '7', '10', '9007199254740993', '123456789012345'),
    fc.constantFrom(
      '',
      '.',
      '.0',
      '.5',
      '.50',
      '.000001',
      '.0000001',
      '.1234567890123456',
      'e3',
      'E+1',
      '.5e-7',
    ),
  )
  .map((parts) => parts.join(''));
const string = fc
  .array(
    fc.constantFrom(
      'a',
      'é',
      '😀',
      '\\n',
      '\\"',
      '\\\\',
      '\\/',
      '\\u0001',
      '\\u00e9',
      '\\b',
      '\t',
      '\u007f',
      '\u2028',
      '__proto__',
      '1',
    ),
    {
      maxLength: 5,
    },
  )
  .map((parts) => `"${parts.join('')}"`);
/**
 * Node 24.21 mistakes a key written with an escape for one that an object parsed before it had in
 * the same place, when that one holds a backslash: `{"x":1,"\\\\":2}`, then `{"x":1,"\\n":2}`. What
 * is compared here is our reading with its reading, so no key holds one.
 */
const key = string.filter((text) => !text.includes('\\\\'));
const { value } = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    number,
    string,
    fc.constantFrom('true', 'false', 'null', 'nul', ' 1', ''),
    tie('object'),
    tie('list'),
  ),
  object: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 4 })
    .map((fields) => `{${fields.map((field) => field.join(':')).join(',')}}`),
  list: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
}));

describe('compact JSON', () => {
  it('takes no line that would be written in another way', () => {
    const reader = new CompactJson();
    fc.assert(
      fc.property(value, (line) => {
        if (isCompact(line, reader)) expect(rewritten(line)).toBe(line);
      }),
      { numRuns: 20_000 },
    );
  });

  it('takes no line that a byte was changed in, unless it still reads the same', () => {
    const reader = new CompactJson();
    const line = fc
      .json({ maxDepth: 3 })
      .filter((text) => !text.includes('\\\\'))
      .map((text) => stringifyJson(parseJson(text)));
    fc.assert(
      fc.property(
        line,
        fc.nat(),
        fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', ' ', 'e'),
        (text, at, put) => {
          const place = at % text.length;
          const changed = text.slice(0, place) + put + text.slice(place + 1);
          if (isCompact(changed, reader)) expect(rewritten(changed)).toBe(changed);
        },
      ),
      { numRuns: 5000 },
    );
  });

  it('takes what this program writes: records of plain texts, short numbers, lists and nested objects', () => {
    for (const line of [
      '{"id":1,"name":"Chloé \\"O\'Brien\\"\\n","amount":-12.5,"ok":true,"none":null,"tags":["a",{"b":{}}],"big":12345678901234567890}',
      '{"id":2,"name":"","amount":0.000001,"ok":false,"none":null,"tags":[],"big":0}',
      '"text"',
      '[]',
      '{}',
    ]) {
      expect(isCompact(line)).toBe(true);
    }
  });

  it('leaves to the parser what it cannot be sure of', () => {
    for (const line of [
      '{"a":1,"a":2}',
      '{"b":1,"0":2}',
      '-0',
      '1.0',
      '1e3',
      '"\\u0041"',
      '"\\/"',
      '{"a": 1}',
      '1 ',
      '\r',
      '',
      '{"a":1}}',
      '[1,]',
      '{"a":}',
    ]) {
      expect([line, isCompact(line)]).toEqual([line, false]);
    }
    expect(isCompact('['.repeat(100) + ']'.repeat(100))).toBe(false);
  });

  it('sees a key twice whatever the objects before looked like', () => {
    const reader = new CompactJson();
    expect(isCompact('{"a":1,"b":2,"c":3}', reader)).toBe(true);
    expect(isCompact('{"a":1,"b":2,"a":3}', reader)).toBe(false);
    expect(isCompact('{"b":1,"a":2}', reader)).toBe(true);
    expect(isCompact('{"b":1,"a":2,"b":3}', reader)).toBe(false);
    expect(isCompact('{"x":{"a":1},"a":{"a":1}}', reader)).toBe(true);
  });

  it('does not end a line at the end of the bytes', () => {
    expect(new CompactJson().lineEnd(Buffer.from('{"a":1}'), 0)).toBe(-1);
    expect(new CompactJson().lineEnd(Buffer.from('"a\\'), 0)).toBe(-1);
  });
});
