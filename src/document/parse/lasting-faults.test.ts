import { expect, test } from 'vitest';
import { GRAMMAR } from '../../blocks/index.ts';
import { ConfigError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { documentOfTree } from '../load.ts';
import { refuseFaultyBase } from './lasting-faults.ts';

function faultsOf(tree: JsonObject): readonly string[] {
  try {
    refuseFaultyBase(documentOfTree(tree), GRAMMAR);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ code, path }) => `${code} ${path}`);
  }
}

test.each<[string, JsonObject, readonly string[]]>([
  ['nothing', {}, []],
  ['a name', { name: 'base' }, []],
  ['half a source', { pipeline: { source: { config: { path: 'in.csv' } } } }, []],
  ['half a block', { pipeline: { dlq: { max_failures_total: 3 } } }, []],
  ['rules for a connector of any type', { pipeline: { sink: { config: { any: 1 } } } }, []],
  ['a key that is unknown', { exection: {} }, ['unknown_key exection']],
  ['one in a block', { pipeline: { sink: { typ: 1 } } }, ['unknown_key pipeline.sink.typ']],
  ['a version to come', { version: 2 }, ['unknown_version version']],
  [
    'a value of the wrong type',
    { execution: { max_concurrent: 'x' } },
    ['wrong_type execution.max_concurrent'],
  ],
  ['a word that is none of those possible', { delivery: 'often' }, ['invalid_value delivery']],
])('a document to merge over with %s', (_what, tree, faults) => {
  expect(faultsOf(tree)).toEqual(faults);
});
