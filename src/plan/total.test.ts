import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { FAKE_PARTS } from '../../test/fakes/parts.ts';
import { documentOfTree } from '../document/load.ts';
import { ISSUES } from '../document/parse/issues.ts';
import { ConfigError } from '../lib/errors.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import { load, plan } from '../../test/fakes/documents.ts';
import { planDocument } from './plan-document.ts';

const KEYS = [
  'version',
  'name',
  'vars',
  'auth',
  'pipeline',
  'matrix',
  'execution',
  'selection',
  'delivery',
  'resilience',
  'source',
  'sources',
  'sink',
  'sinks',
  'transforms',
  'state',
  'dlq',
  'quality',
  'contract',
  'masking',
  'type',
  'config',
  'ref',
  'id',
  'parent',
  'parent_key',
  'depends_on',
  'tags',
  'status',
  'weight',
  'path',
  'fields',
  'values',
  'table',
  'write_mode',
  'key',
  'retry',
  'retry_on',
  'record',
  'rules',
  'match',
  'applies_to',
  'on_batch_error',
  'extends',
  'profiles',
  'params',
  'required',
  'default',
  'computed',
  'sla',
  '__proto__',
  'constructor',
  'x',
];
const TEXTS = [
  'lines',
  'table',
  'numbers',
  'nowhere',
  'keep',
  'set',
  'folder',
  'static',
  'default',
  'a',
  'b',
  'upsert',
  'exactly_once',
  'draft',
  '${now.date}',
  '${a.id}',
  '${vars.x}',
  '${env:NAME}',
  '${param.x}',
  '${param.a}',
  '${map:a|a=b|*=${vars.x}}',
  '${vault:a#b}',
  '$${x}',
  '${',
  '${vars.',
  '${sources.a.b}',
  '',
];

const tree = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, 0, 1, -1, true, ...TEXTS),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 6 }),
}));

function refusedOrFine(act: () => unknown): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.issues.length).toBeGreaterThan(0);
    for (const issue of error.issues) expect(Object.keys(ISSUES)).toContain(issue.code);
  }
}

test('whatever a document holds, it is planned or refused with issues', () => {
  fc.assert(
    fc.property(tree.object, (document) =>
      refusedOrFine(() => plan(JSON.stringify(document), {}, { format: 'json' })),
    ),
    { numRuns: 400 },
  );
});

/** A document that uses every block, to be damaged at one place. */
const WHOLE: JsonObject = {
  version: 1,
  name: 'whole',
  vars: { dir: 'out' },
  params: {
    day: { default: '${env:NAME}' },
    n: { type: 'int', default: 3, values: [3, 4] },
    c: { computed: '${map:n|3=x}${param.day}' },
  },
  auth: { crm: { type: 'static', config: { token: 'abcd' } } },
  pipeline: {
    sources: {
      default: {
        type: 'lines',
        config: { path: 'in', auth: { ref: 'crm' } },
        tags: ['t'],
        status: 'active',
      },
    },
    sink: { type: 'table', config: { table: '${vars.dir}', write_mode: 'upsert', key: ['id'] } },
    transforms: [
      { type: 'keep', config: { fields: ['id'] } },
      { type: 'set', config: { values: { at: '${now.iso}', n: '${param.n}', c: '-${param.c}' } } },
    ],
    state: { type: 'folder', config: { path: 's' } },
    dlq: {
      sink: { type: 'lines', config: { path: 'dead' } },
      on_batch_error: 'propagate',
      max_failures_total: 3,
    },
    quality: { record: [{ type: 'not_null', field: 'id', on_failure: 'quarantine' }] },
    contract: { version: '1', fields: [{ name: 'id', type: 'integer' }] },
    masking: { rules: [{ match: { fields: ['mail'] }, action: { type: 'hash' } }] },
  },
  matrix: [
    { id: 'a', weight: 2 },
    {
      id: 'b',
      parent: 'a',
      source: { config: { path: 'b-${a.id}' } },
      depends_on: ['a'],
      delivery: 'exactly_once',
      dlq: null,
    },
  ],
  execution: { max_concurrent: 2, on_error: 'stop', schedule: 'lpt' },
  selection: { include_parents: 'all' },
  delivery: 'at_least_once',
  resilience: { retry: { max_attempts: 2 }, retry_on: ['timeout'] },
};

function places(value: JsonValue, steps: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [steps];
  const entries: [string | number, JsonValue][] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  return [steps, ...entries.flatMap(([step, item]) => places(item, [...steps, step]))];
}

function replaced(
  value: JsonValue,
  [step, ...below]: readonly (string | number)[],
  by: JsonValue,
): JsonValue {
  if (step === undefined) return by;
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? replaced(item, below, by) : item));
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [
      key,
      key === step ? replaced(item, below, by) : item,
    ]),
  );
}

test('a whole document with one damaged place is planned or refused with issues', () => {
  const { dlq: _dlq, ...fine } = (WHOLE['matrix'] as JsonObject[])[1] ?? {};
  expect(
    plan(JSON.stringify({ ...WHOLE, matrix: [{ id: 'a' }, fine] }), {}, { format: 'json' }).rows,
  ).toHaveLength(2);
  fc.assert(
    fc.property(fc.constantFrom(...places(WHOLE)), tree.value, (place, value) => {
      const damaged = replaced(WHOLE, place, value);
      refusedOrFine(() => plan(JSON.stringify(damaged), {}, { format: 'json' }));
    }),
    { numRuns: 400 },
  );
});

test('planning again from the loaded tree gives the same plan', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...places(WHOLE)),
      fc.constantFrom<JsonValue>('$${x}', '${env:TOKEN}', 'a', 1),
      (place, value) => {
        const text = JSON.stringify(replaced(WHOLE, place, value));
        let first: unknown;
        try {
          first = plan(text, {}, { format: 'json' });
        } catch {
          return;
        }
        const document = load(text, { format: 'json' });
        const tree2 = JSON.parse(JSON.stringify(document.tree)) as JsonObject;
        const again = planDocument(documentOfTree(tree2, { name: document.name }), FAKE_PARTS, {
          cpus: 4,
        });
        const bare = (value2: unknown): unknown =>
          JSON.parse(
            JSON.stringify(value2, (key, item: unknown) => (key === 'warnings' ? [] : item)),
          );
        expect(bare(again)).toEqual(bare(first));
      },
    ),
  );
});
