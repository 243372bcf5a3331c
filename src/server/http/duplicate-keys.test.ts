import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { duplicateKey } from './duplicate-keys.ts';

test.each<[string, readonly (string | number)[] | undefined]>([
  ['{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}', undefined],
  ['{"a":1,"b":2,"a":3}', ['a']],
  ['{"a" : [ {"x":1}, {"b":{"c":"a","c" :2}} ]}', ['a', 1, 'b', 'c']],
  [String.raw`{"a\\":1,"a\"":2,"a\\":3}`, ['a\\']],
  [String.raw`{"a":1,"\u0061":2}`, ['a']],
  ['["a","a",{"k":"k"}]', undefined],
  ['"a"', undefined],
])('%s', (text, path) => expect(duplicateKey(text)).toEqual(path));

test('whatever was written from a value has none', () => {
  fc.assert(
    fc.property(fc.json(), (text) => duplicateKey(JSON.stringify(JSON.parse(text))) === undefined),
  );
});
