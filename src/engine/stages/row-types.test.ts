import { expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { plannedRow } from '../../../test/fakes/plan.ts';
import { maskingSchema as maskingBlock } from '../../blocks/masking/schema.ts';
import { csvSource } from '../../connectors/csv/index.ts';
import { jsonlSink } from '../../connectors/jsonl/index.ts';
import { check } from '../../kit/schema.ts';
import { parseJson, type JsonObject } from '../../lib/text/json.ts';
import { parseType, schemaText } from '../../kit/type-text.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { TRANSFORMS } from '../../transforms/index.ts';
import { describedTypes, hasDescribedTypes, typesAfterStages } from './row-types.ts';

function rowWith(
  transforms: readonly (readonly [string, JsonObject])[],
  masking?: JsonObject,
): PlannedRow {
  return {
    ...plannedRow(csvSource, jsonlSink),
    transforms: transforms.map(([type, config]) => {
      const definition = TRANSFORMS.find((one) => one.type === type);
      if (definition === undefined) throw new Error(type);
      const checked = check<unknown>(definition.config, config);
      if (!checked.ok) throw new Error(checked.issues[0]?.message);
      return { type, definition, config, deferred: false, parsed: checked.value } as never;
    }),
    blocks: masking === undefined ? {} : { masking: maskingBlock.parse(masking) },
  };
}

const TABLE: RecordSchema = {
  fields: Object.entries({ id: 'int64', card: 'decimal(16, 0)', kind: 'utf8', at: 'date' }).map(
    ([name, text]) => ({
      name,
      type: parseType(text) ?? { kind: 'json' },
      nullable: true,
      native: { system: 'postgres', name: text },
    }),
  ),
};

function told(row: PlannedRow, source?: RecordSchema): string[] {
  return typesAfterStages(row, source).map(
    ({ stage, schema }) => `${stage}: ${schema === undefined ? 'unknown' : schemaText(schema)}`,
  );
}

test('types are shown after each stage that may change them', () => {
  const row = rowWith(
    [
      ['cast', { fields: { id: 'string' } }],
      ['explode', { path: 'kind' }],
      ['set', { values: { n: 1 } }],
    ],
    { rules: [{ match: { fields: ['n'] }, action: { type: 'hash' } }] },
  );
  expect(told(row, TABLE)).toEqual([
    'source: id: int64, card: decimal(16, 0), kind: utf8, at: date',
    'transform cast: id: utf8, card: decimal(16, 0), kind: utf8, at: date',
    'transform explode: id: utf8, card: decimal(16, 0), at: date, …',
    'transform set: id: utf8, card: decimal(16, 0), at: date, n: int64 not null, …',
    'masking: id: utf8, card: decimal(16, 0), at: date, n: utf8 not null, …',
  ]);
  expect(told(row)[0]).toBe('source: unknown');
});

test('a detector may change every text, and numbers that look like cards', () => {
  const detecting = (detector: string) =>
    typesAfterStages(
      rowWith([], {
        rules: [{ match: { value_detector: detector }, action: { type: 'hash' } }],
      }),
      TABLE,
    ).at(-1)?.schema;
  const byMail = detecting('email');
  expect(schemaText(byMail ?? TABLE)).toBe('id: int64, card: decimal(16, 0), kind: utf8, at: date');
  expect(byMail?.fields.map(({ native }) => native?.name)).toEqual([
    'int64',
    'decimal(16, 0)',
    undefined,
    'date',
  ]);
  expect(schemaText(detecting('credit_card') ?? TABLE)).toBe('card: utf8, kind: utf8, at: date, …');
});

test.each([
  ['mail: utf8', 'what: email, mask: 0', 'unknown'],
  ['mail: utf8 not null', 'what: email, mask: null', 'mail: utf8'],
  ['price: decimal(9, 2)', 'what: phone', 'price: decimal(9, 2)'],
  ['price: decimal(9, 2)', 'what: credit_card', 'price: decimal(9, 2)'],
  ['price: decimal(12, 2)', 'what: phone', 'price: utf8'],
  ['n: int32, m: int64', 'what: credit_card', 'n: int32, …'],
  ['n: int64', 'what: credit_card, mask: 0', 'n: int64'],
  ['price: decimal(9, 2)', 'field: price, mask: 0', 'price: int64 not null'],
  ['at: struct(zip: int32, no: int32)', 'field: at.zip', 'at: struct(zip: utf8, no: int32)'],
  ['at: struct(zip: int32)', 'what: email', 'at: struct(zip: int32)'],
  ['at: struct(zip: int64)', 'what: credit_card', 'at: json'],
  ['n: list(int32)', 'what: email', 'n: list(int32)'],
  ['n: list(int32)', 'field: n.1', 'n: json'],
  ['n: list(utf8)', 'what: email', 'n: list(utf8)'],
  ['n: map(utf8, int32)', 'field: n.a', 'n: json'],
  ['n: map(utf8, int32)', 'field: m', 'n: map(utf8, int32)'],
])('%s, where a rule hides %s, becomes %s', (before, rule, after) => {
  const given = Object.fromEntries(rule.split(', ').map((part) => part.split(': ')));
  const { what, field, mask } = given as Record<string, string>;
  const match: JsonObject =
    what === undefined ? { fields: [field ?? ''] } : { value_detector: what };
  const action: JsonObject =
    mask === undefined ? { type: 'hash' } : { type: 'redact', mask: parseJson(mask) };
  const types = parseType(`struct(${before})`);
  if (types?.kind !== 'struct') throw new Error(before);
  expect(told(rowWith([], { rules: [{ match, action }] }), types).at(-1)).toBe(`masking: ${after}`);
});

test('where an earlier rule may find what a later one names, the value has the type of either', () => {
  const rules: JsonObject[] = [
    { match: { value_detector: 'email' }, action: { type: 'redact' } },
    { match: { fields: ['kind', 'id'] }, action: { type: 'redact', mask: 0 } },
  ];
  expect(told(rowWith([], { rules }), TABLE).at(-1)).toBe(
    'masking: id: int64 not null, card: decimal(16, 0), at: date, …',
  );
});

test('a query is asked for the types of its result, where it may be compiled', async () => {
  const query = 'SELECT id, CAST(card AS VARCHAR) AS card, "at" + 1 AS next FROM batch';
  const row = rowWith([['sql', { query }]], {
    rules: [{ match: { fields: ['card'] }, action: { type: 'hash' } }],
  });
  expect(told(row, TABLE).slice(1)).toEqual(['transform sql: unknown', 'masking: unknown']);
  expect(hasDescribedTypes(row)).toBe(true);
  const described = await describedTypes(row, { env: testEnv(), source: TABLE });
  expect(described.slice(1).map(({ schema }) => schemaText(schema ?? TABLE))).toEqual([
    'id: int64, card: utf8, next: date',
    'id: int64, card: utf8, next: date',
  ]);
  const broken = rowWith([['sql', { query: 'SELECT a FROM nowhere' }]]);
  expect((await describedTypes(broken, { env: testEnv(), source: TABLE })).at(-1)?.schema).toBe(
    undefined,
  );
});
