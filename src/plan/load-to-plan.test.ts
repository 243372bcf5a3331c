import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadOptions } from '../../test/fakes/documents.ts';
import { loadDocument } from '../document/load.ts';
import { parseText } from '../document/parse/parse.ts';
import type { Steps } from '../document/parse/steps.ts';
import { ConfigError, type Issue } from '../lib/errors.ts';
import { isObject, stringifyJson, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { joinPath } from '../lib/text/text-path.ts';
import { parts } from '../parts.ts';
import { loadToPlan } from './load-to-plan.ts';
import { planDocument } from './plan-document.ts';

async function faultsOf(
  tree: JsonObject,
  variables: Readonly<Record<string, string>> = {},
): Promise<readonly Issue[]> {
  const options = loadOptions({
    format: 'json',
    secrets: 'keep',
    paramMode: 'placeholders',
    variables,
  });
  const planning = { cpus: 4, backfill: 'kept' } as const;
  try {
    const load = () => loadDocument(stringifyJson(tree), options);
    planDocument(await loadToPlan(load, parts, planning), parts, planning);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues;
  }
}

const toldOf = async (tree: JsonObject): Promise<string[]> =>
  (await faultsOf(tree)).map(({ code, path }) => `${code} ${path}`);

describe('what else is wrong is told together with a broken token', () => {
  test('unknown and missing keys, a wrong cron expression, a broken reference', async () => {
    const told = await toldOf({
      version: 1,
      schedule: { cron: '61 * * * *' },
      pipeline: {
        source: { type: 'postgres', config: { connection_url: '${env:NOWHERE}', qurey: 'x' } },
        sink: { type: 'jsonl', config: { pth: '${vars.nowhere}' } },
        frobs: 1,
      },
    });
    expect(told.sort()).toEqual([
      'invalid_cron schedule.cron',
      'missing_key pipeline.sink.config.path',
      'missing_key pipeline.source.config.query',
      'missing_variable pipeline.source.config.connection_url',
      'unknown_key pipeline.frobs',
      'unknown_key pipeline.sink.config.pth',
      'unknown_key pipeline.source.config.qurey',
      'unknown_reference pipeline.sink.config.pth',
    ]);
  });

  test('a parameter whose default is not known says nothing of its type or its uses', async () => {
    const told = await toldOf({
      version: 1,
      params: { n: { type: 'int', default: '${env:NOWHERE}' }, twice: { computed: '${param.n}0' } },
      pipeline: {
        source: { type: 'csv', config: { path: 'a.csv', batch_size: '${param.n}' } },
        sink: { type: 'jsonl', config: { path: '${param.twice}' } },
      },
      typo: 1,
    });
    expect(told).toEqual(['missing_variable params.n.default', 'unknown_key typo']);
  });

  test('a name that is not known is no unknown row', async () => {
    const told = await toldOf({
      version: 1,
      pipeline: {
        source: { type: 'csv', config: { path: 'a.csv' } },
        sink: { type: 'jsonl', config: { path: '${row.id}.jsonl' } },
      },
      matrix: [{ id: '${env:NOWHERE}' }, { id: 'b', parent: 'a' }],
    });
    expect(told).toContain('missing_variable matrix[0].id');
    expect(told.filter((one) => one.startsWith('unknown_row'))).toEqual([]);
  });
});

/** Places of texts and numbers. */
function leaves(value: JsonValue, steps: Steps = []): Steps[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => leaves(item, [...steps, index]));
  if (isObject(value))
    return Object.entries(value).flatMap(([key, item]) => leaves(item, [...steps, key]));
  return typeof value === 'string' || typeof value === 'number' ? [steps] : [];
}

function withLeaf<T extends JsonValue>(value: T, steps: Steps, text: string): T;
function withLeaf(value: JsonValue, [step, ...below]: Steps, text: string): JsonValue {
  if (step === undefined) return text;
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? withLeaf(item, below, text) : item));
  return isObject(value)
    ? { ...value, [step]: withLeaf(value[String(step)] ?? null, below, text) }
    : value;
}

/** Names of parameters and the version are read before, or without, their tokens. */
const isFilled = ([top]: Steps): boolean => top !== 'version' && top !== 'params';

describe('a valid document with one broken token is told of nothing else', () => {
  const folder = resolve(import.meta.dirname, '../../examples');
  const names = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
  test.each(names)('%s', async (name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    if (text.includes('!include') || text.includes('extends:')) return;
    const { tree } = parseText(text, 'yaml', { kind: 'submitted' });
    const used = [...text.matchAll(/\$\{(?:env|secret):(\w+)\}/g)].map(([, one = '']) => one);
    const variables = Object.fromEntries(used.map((one) => [one, 'x']));
    if ((await faultsOf(tree, variables)).length > 0) return;
    for (const steps of leaves(tree).filter(isFilled)) {
      const found = await faultsOf(withLeaf(tree, steps, '${env:NOWHERE}'), variables);
      const others = found.filter(({ code }) => code !== 'missing_variable');
      expect({ at: joinPath('', ...steps), others }).toEqual({
        at: joinPath('', ...steps),
        others: [],
      });
    }
  });
});
