import { expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { plannedRow } from '../../../test/fakes/plan.ts';
import { maskingSchema as maskingBlock } from '../../blocks/masking/schema.ts';
import { csvSource } from '../../connectors/csv/index.ts';
import { jsonlSink } from '../../connectors/jsonl/index.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
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
  expect(schemaText(byMail ?? TABLE)).toBe('id: int64, card: utf8, kind: utf8, at: date');
  expect(byMail?.fields.map(({ native }) => native?.name)).toEqual([
    'int64',
    undefined,
    undefined,
    'date',
  ]);
  expect(schemaText(detecting('credit_card') ?? TABLE)).toBe('card: utf8, kind: utf8, at: date, …');
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
