import { describe, expect, it } from 'vitest';
import { ConnectorError } from '../../../lib/errors.ts';
import { textOf } from '../output/whole.ts';
import { jsonDocument } from './json-document.ts';

const warnings: string[] = [];
const read = (text: string) => {
  warnings.length = 0;
  const log = { warn: (message: string) => void warnings.push(message) };
  return jsonDocument(text, { name: 'a.json', loneRecords: true, log });
};

describe('a JSON document', () => {
  it.each([
    ['[\n {"a":1},\n {"a":tru}\n]', 'line 3 of a.json is not JSON (at column 7)'],
    ['[\n {"a":1},\n {"a":', 'line 3 of a.json is not JSON (at column 7)'],
    ['[1,]', 'line 1 of a.json is not JSON (at column 4)'],
    [
      '[{"a":"1e999"},\n {"a":1e400}]',
      'line 2 of a.json has a number beyond the range of numbers (at column 7)',
    ],
  ])('%j is refused with the place of its fault', (text, message) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ message, kind: 'data' }));
  });

  it('keeps how numbers are written that are records', () => {
    expect(read('[1, 1.0, -0, 123e65, "1.0"]').map((one) => one.spelled)).toEqual([
      undefined,
      '1.0',
      '-0',
      '123e65',
      undefined,
    ]);
    expect(read(' 42.0\n')).toEqual([{ value: 42, spelled: '42.0' }]);
  });

  it('warns of members with one name, of half a character, and of an empty file', () => {
    expect(read('[{"a":1,"b":{"c":1,"c":2}}]')[0]?.value).toEqual({ a: 1, b: { c: 2 } });
    expect(warnings).toEqual(['an object has two members of one name: the last one counts']);
    expect(read('[{"a":1},{"a":1}]')).toHaveLength(2);
    expect(warnings).toEqual([]);
    expect(read(String.raw`[{"a":"\udc00"}]`)[0]?.value).toEqual({ a: '\udc00' });
    expect(warnings).toEqual([expect.stringMatching(/^a text holds half of a character/)]);
    expect(read(' \n')).toEqual([]);
    expect(warnings).toEqual(['the file is empty: it has no JSON document, and no record']);
  });
});

describe('the text of a file', () => {
  it.each<[string, Buffer, string]>([
    ['Latin-1', Buffer.from('["a",\n"caf\xe9"]', 'latin1'), 'line 2 of f is not UTF-8 text'],
    ['half a letter', Buffer.from('61e2820a', 'hex'), 'line 1 of f is not UTF-8 text'],
    ['UTF-16', Buffer.from('\ufeff[1]', 'utf16le'), 'f is UTF-16 text'],
    ['UTF-32', Buffer.from('fffe00005b0000005d000000', 'hex'), 'f is UTF-32 text'],
    ['UTF-32 of the other order', Buffer.from('0000feff0000005b', 'hex'), 'f is UTF-32 text'],
  ])('is refused when it is %s', async (_title, bytes, message) => {
    async function* blocks() {
      yield* [bytes];
    }
    const error: unknown = await textOf(blocks(), 'f').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectorError);
    expect(error).toMatchObject({ message, hint: 'convert the file to UTF-8' });
  });
});
