import { describe, expect, test } from 'vitest';
import { isObject, stringifyJson, type JsonValue } from './json.ts';
import {
  documentText,
  JSON_NULL,
  plainJson,
  sourceText,
  withoutHiddenMembers,
  withSourceText,
} from './json-literal.ts';

function read(text: string): JsonValue {
  return withSourceText(JSON.parse(text) as JsonValue, text);
}

describe('a JSON value with its text', () => {
  test.each(['null', '1.0', '"\\u0041"', 'true', '{"a": 1,"a" : 2}', ' [1.50]'])('%s', (text) => {
    const value = read(text);
    expect(documentText(value)).toBe(text);
    expect(stringifyJson([plainJson(value)])).toBe(`[${JSON.stringify(JSON.parse(text))}]`);
    expect(documentText(structuredClone(plainJson(value)))).toBe(JSON.stringify(JSON.parse(text)));
  });

  test('a literal has no fields and is written as it was', () => {
    expect(stringifyJson({ a: JSON_NULL, b: [read('1.0')], c: 2n ** 63n })).toBe(
      '{"a":null,"b":[1.0],"c":9223372036854775808}',
    );
    expect(isObject(JSON_NULL) && Object.keys(JSON_NULL)).toEqual([]);
  });

  test('a changed copy has no text', () => {
    const value = read('{"a": 1.0}');
    expect(sourceText({ ...(value as object), b: 2 })).toBeUndefined();
  });

  test('members that nobody can see go away with the text', () => {
    for (const text of ['{"a":1,"a":2}', '[{"a":{"b":1},"a":{"b":1}}]'])
      expect(sourceText(withoutHiddenMembers(read(text) as JsonValue[]))).toBeUndefined();
    for (const text of ['{"a": "\\"b\\":"}', '[{"a" : {"b":1.0}}, {"a":[]}]'])
      expect(sourceText(withoutHiddenMembers(read(text) as JsonValue[]))).toBe(text);
  });
});
