/** Values of document columns that JavaScript cannot hold as they were written stay whole. */
import { expect, test } from 'vitest';
import { testEnv } from '../../test/fakes/env.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import { check } from '../kit/schema.ts';
import { JSON_NULL, withSourceText } from '../lib/text/json-literal.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { crossJoin } from './join/cross-join.ts';
import { keysCase } from './rename/keys-case.ts';
import { renameKeys } from './rename/rename-keys.ts';
import { spellSymbols } from './rename/spell-symbols.ts';
import { explode } from './reshape/explode.ts';
import { flatten } from './reshape/flatten.ts';

const price = withSourceText(1.1, '1.10');
const record = { id: 1, none: JSON_NULL, price };

/** As a run does it: what clones the record would take the literals for objects. */
async function made(
  definition: TransformDefinition,
  config: object,
  given: JsonObject,
): Promise<string[]> {
  const checked = check<unknown>(definition.config, config);
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  const compiled = await definition.compile(checked.value, { env: testEnv() });
  if (compiled.kind === 'page') throw new Error('it takes whole pages');
  const out: JsonValue[] = [];
  compiled.apply(given, (emitted) => out.push(emitted));
  return out.map((one) => stringifyJson(one));
}

test.each([
  ['keys_case', keysCase, { mode: 'snake' }],
  ['rename_keys', renameKeys, { pattern: '^x', replacement: 'y' }],
  ['spell_symbols', spellSymbols, {}],
  ['flatten', flatten, {}],
])('in %s', async (_name, transform, config) => {
  expect(await made(transform as TransformDefinition, config, record)).toEqual([
    '{"id":1,"none":null,"price":1.10}',
  ]);
});

test('as items of a list', async () => {
  const list = { id: 1, v: [JSON_NULL, price, { a: 2 }], w: [0] };
  expect(await made(explode as TransformDefinition, { path: 'v', prefix: 'v' }, list)).toEqual([
    '{"id":1,"v":null,"w":[0]}',
    '{"id":1,"v":1.10,"w":[0]}',
    '{"id":1,"w":[0],"v_a":2}',
  ]);
  expect(await made(crossJoin as TransformDefinition, { arrays: ['v', 'w'] }, list)).toEqual([
    '{"id":1,"v":null,"w":0}',
    '{"id":1,"v":1.10,"w":0}',
    '{"id":1,"a":2,"w":0}',
  ]);
});
