/**
 * A row moved as columns writes, diverts, counts and says what it writes, diverts, counts and says
 * as records.
 */
import { mkdtempSync, readFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { csvSink, csvSource } from '../../connectors/csv/index.ts';
import { jsonlSink, jsonlSource } from '../../connectors/jsonl/index.ts';
import { contractSchema } from '../../blocks/contract/schema.ts';
import { maskingSchema } from '../../blocks/masking/schema.ts';
import { qualitySchema } from '../../blocks/quality/schema.ts';
import { COLUMNS_LANE, RECORDS_LANE, type Lane } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { PlannedPart, PlannedRow } from '../../plan/plan.ts';
import { TRANSFORMS } from '../../transforms/index.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { countedMetrics, run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { dlqPlan, part, planOf, plannedRow } from '../../../test/fakes/plan.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-columns-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Scenario {
  readonly text: string;
  readonly source?: JsonObject;
  /** What the text is. */
  readonly format?: 'csv' | 'jsonl';
  readonly transforms?: readonly { readonly type: string; readonly config: JsonObject }[];
  readonly masking?: unknown;
  readonly quality?: unknown;
  readonly contract?: unknown;
  readonly sink?: 'jsonl' | 'csv';
  readonly limit?: number | undefined;
}

function configured<
  D extends { readonly type: string; readonly config: Parameters<typeof check>[0] },
>(definition: D, config: JsonObject) {
  const checked = check<unknown>(definition.config, config);
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  return { ...part(definition, config), parsed: checked.value } as PlannedPart<D>;
}

function governanceOf({ masking, quality, contract }: Scenario): PlannedRow['blocks'] {
  return {
    ...(masking === undefined ? {} : { masking: maskingSchema.parse(masking) }),
    ...(quality === undefined ? {} : { quality: qualitySchema.parse(quality) }),
    ...(contract === undefined ? {} : { contract: contractSchema.parse(contract) }),
  };
}

/** Everything that can be seen of a run from outside. */
async function move(scenario: Scenario, lane: Lane) {
  const place = mkdtempSync(join(folder, lane.form));

  const [input, output, letters] = ['in.csv', 'out', 'dead.jsonl'].map((name) =>
    join(place, name),
  ) as [string, string, string];
  for (const path of [output, letters]) rmSync(path, { force: true });
  writeFileSync(input, scenario.text);
  const metrics = countedMetrics();
  const env = testEnv({ metrics, clock: stillClock() });
  const row: PlannedRow = {
    ...plannedRow(csvSource, jsonlSink),
    source:
      scenario.format === 'jsonl'
        ? configured(jsonlSource, { path: input, ...scenario.source })
        : configured(csvSource, { path: input, ...scenario.source }),
    sink:
      scenario.sink === 'csv'
        ? configured(csvSink, { path: output })
        : configured(jsonlSink, { path: output }),
    dlq: { ...dlqPlan(jsonlSink), sink: configured(jsonlSink, { path: letters }) },
    transforms: (scenario.transforms ?? []).map(({ type, config }) => {
      const definition = TRANSFORMS.find((one) => one.type === type);
      if (definition === undefined) throw new Error(`no transform ${type}`);
      return configured(definition, config);
    }),
    blocks: governanceOf(scenario),
    lane: { lane, reason: 'a test' },
  };
  const { invocations } = await run(planOf([row]), {
    env,
    ...(scenario.limit === undefined ? {} : { limit: scenario.limit }),
  });
  const [{ balance, bytes_read: bytes, pages, status, error, lane: told } = { lane: '' }] =
    invocations as Partial<(typeof invocations)[number]>[];
  const textOf = (path: string): string =>
    (existsSync(path) ? readFileSync(path, 'utf8') : 'nothing').replaceAll(place, '');
  return {
    told,
    seen: {
      written: textOf(output),
      dead: textOf(letters),
      outcome: {
        balance,
        bytes,
        pages,
        status,
        error: error?.message.replaceAll(place, ''),
        code: error?.code,
      },
      metrics: Object.fromEntries([...metrics.counts].sort(([a], [b]) => (a < b ? -1 : 1))),
      lines: env.lines
        .map(({ line }) => line.replaceAll(place, '').replace(/ (?:lane|duration_ms)=\w+/g, ''))
        .filter((line) => !line.includes('another lane')),
    },
  };
}

async function expectSame(scenario: Scenario) {
  const [asRecords, asColumns] = [
    await move(scenario, RECORDS_LANE),
    await move(scenario, COLUMNS_LANE),
  ];
  // Pages of records that have no shape in common are records in each lane.
  expect(asRecords.told).toBe('records');
  expect(['columns', 'records', 'columns+records', 'records+columns']).toContain(asColumns.told);
  expect(asColumns.seen).toEqual(asRecords.seen);
  return asColumns.seen;
}

const NAMES = ['a', 'b', 'c', 'firstName', 'First Name', '7', '__proto__', 'é'];
const name = fc.constantFrom(...NAMES);
const cellText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '1',
    '007',
    '-0',
    '0',
    '1.0',
    '1.5',
    '-2.50',
    '1e5',
    '0.0000001',
    '99999999999999999999',
    '9007199254740993',
    '.5',
    '1e400',
    '1e16',
    '9007199254740992.0',
  ),
  fc.constantFrom(
    'true',
    'FALSE',
    'yes',
    'n',
    'null',
    'x',
    'ada@example.com',
    '2026-01-02t03:04:05.50+00:00',
    '{"k":1}',
    '4111 1111 1111 1111',
  ),
  fc.string({
    unit: fc.constantFrom('a', '"', ',', '\n', '\r', '\\', 'é', '€', '😀', '\u0001', ' '),
    maxLength: 8,
  }),
);
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

const table = fc
  .record({
    header: fc.uniqueArray(name, { minLength: 1, maxLength: 5 }),
    cells: fc.array(fc.array(fc.tuple(cellText, fc.boolean()), { minLength: 1, maxLength: 6 }), {
      maxLength: 12,
    }),
    ragged: fc.boolean(),
  })
  .map(({ header, cells, ragged }) => {
    const rows = cells.map((row) => {
      const wanted = ragged ? row : header.map((_, index) => row[index % row.length] ?? ['', true]);
      // A bare quote would open a cell that never ends.
      return wanted
        .map(([text, bare]) =>
          bare === true && !/[",\n\r]/.test(String(text)) ? text : quoted(String(text)),
        )
        .join(',');
    });
    return { text: [header.map(quoted).join(','), ...rows].join('\n'), ragged };
  });

const names = fc.array(name, { minLength: 1, maxLength: 3 });
const value = fc.constantFrom<JsonValue>(
  null,
  true,
  0,
  1,
  1.5,
  12345678901234567890n,
  1e16,
  -0,
  '',
  'x',
  '1',
  'é"\n',
  [1, { firstName: 2 }],
  {
    firstName: 1,
    '7': 2,
  },
);
const path = fc.oneof(
  name.map((one) => `$['${one}']`),
  fc.constant('$.a.firstName'),
);
const of = (type: string, config: fc.Arbitrary<JsonObject>) =>
  config.map((made) => ({ type, config: made }));

const transform = fc.oneof(
  of('select', fc.record({ fields: names })),
  of('drop', fc.record({ fields: names })),
  of(
    'rename_field',
    fc.tuple(name, name).map(([from, to]) => ({ fields: { [from]: to } })),
  ),
  of('rename_field', fc.constant({ fields: { a: 'b', b: 'a' } })),
  of('keys_case', fc.record({ mode: fc.constantFrom('snake', 'camel', 'dot') })),
  of('spell_symbols', fc.constant({})),
  of(
    'set',
    fc
      .tuple(name, value)
      .map(([key, constant]) => ({ values: Object.fromEntries([[key, constant]]) })),
  ),
  of('filter', fc.record({ path, op: fc.constantFrom('eq', 'ne'), value })),
  of('filter', fc.record({ path, op: fc.constant('exists') })),
  of(
    'filter',
    fc.record({
      path,
      op: fc.constantFrom('in', 'not_in'),
      value: fc.array(value, { maxLength: 3 }),
    }),
  ),
  of(
    'cast',
    fc.record({
      fields: fc.dictionary(name, fc.constantFrom('int', 'float', 'bool', 'string', 'timestamp'), {
        maxKeys: 2,
      }),
      on_error: fc.constantFrom('error', 'null', 'skip', 'skip', 'skip'),
    }),
  ),
  of('redact', fc.record({ fields: names, mask: value })),
  of('hash', fc.record({ fields: names })),
  of(
    'hash',
    fc.tuple(name, name).map(([from, into]) => ({ fields: [from], into })),
  ),
  of('value_case', fc.record({ fields: names, mode: fc.constantFrom('upper', 'title', 'trim') })),
  // Needs records, as does everything behind it.
  of('coalesce', fc.constant({ field: 'a', default: 'none' })),
);

const action = fc.oneof(
  fc.record({ type: fc.constant('redact'), mask: value }),
  fc.constant({ type: 'hash' }),
  fc.constant({ type: 'tokenize', prefix: 'tök"_' }),
  fc.record({ type: fc.constant('partial'), keep_last: fc.integer({ min: 0, max: 3 }) }),
);
const rule = fc.record({
  match: fc.oneof(
    fc.record({ fields: names }),
    fc.record({ field_pattern: fc.constantFrom('(?i)name', '^a', 'a.firstName') }),
    fc.record({ value_detector: fc.constantFrom('email', 'credit_card') }),
    fc.record({ fields: names, value_detector: fc.constant('email') }),
  ),
  action,
});
const masking = fc.record({
  rules: fc.array(rule, { minLength: 1, maxLength: 3 }),
  key: fc.constantFrom('secret', 'schlüssel'),
});

const field = fc.oneof(
  fc.record({
    name,
    type: fc.constant('string'),
    min_length: fc.integer({ min: 0, max: 3 }),
    nullable: fc.boolean(),
    required: fc.boolean(),
  }),
  fc.record({
    name,
    type: fc.constant('string'),
    pattern: fc.constantFrom('^[a-z]*$', 'é'),
    required: fc.boolean(),
  }),
  fc.record({
    name,
    type: fc.constantFrom('integer', 'number'),
    min: fc.constant(1),
    required: fc.boolean(),
  }),
  fc.record({ name, type: fc.constantFrom('boolean', 'object', 'array'), required: fc.boolean() }),
);
const contract = fc.record({
  version: fc.constant('1'),
  on_breach: fc.constantFrom('fail', 'quarantine', 'quarantine', 'warn'),
  allow_extra_fields: fc.boolean(),
  fields: fc.uniqueArray(field, { minLength: 1, maxLength: 3, selector: (one) => one.name }),
});

const checked = <T extends object>(config: fc.Arbitrary<T>, ...policies: string[]) =>
  fc
    .tuple(config, fc.constantFrom(...policies))
    .map(([made, policy]) => ({ ...made, on_failure: policy }));
const recordCheck = fc.oneof(
  fc.record({ type: fc.constantFrom('not_null', 'not_empty'), field: path }),
  fc.record({ type: fc.constant('regex_match'), field: path, pattern: fc.constant('^[^a]*$') }),
  fc.record({
    type: fc.constantFrom('value_in_set', 'not_in_set'),
    field: path,
    values: fc.array(value, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant('type_is'),
    field: path,
    expected: fc.constantFrom('string', 'number', 'null', 'object'),
  }),
  fc.constant({ type: 'json_schema', schema: { required: ['a'] } }),
);
const unique = fc.record({
  type: fc.constant('unique'),
  fields: fc.array(path, { minLength: 1, maxLength: 2 }),
});
const pageCheck = fc.oneof(
  fc.record({ type: fc.constant('null_rate'), field: path, max: fc.constant(0.5) }),
  fc.record({ type: fc.constant('distinct_count'), field: path, max: fc.constant(2) }),
  fc.record({ type: fc.constant('row_count'), min: fc.constant(2) }),
);
const quality = fc.record({
  record: fc.array(checked(recordCheck, 'quarantine', 'quarantine', 'abort'), { maxLength: 2 }),
  batch: fc.array(
    fc.oneof(
      checked(unique, 'quarantine', 'abort'),
      checked(pageCheck, 'quarantine_batch', 'abort'),
    ),
    { maxLength: 1 },
  ),
});
const sometimes = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const jsonText = fc.oneof(
  fc.constantFrom(
    '1',
    '0',
    '-1.5',
    '-0',
    '1.0',
    '1e5',
    '1e-7',
    '12345678901234567890',
    '9007199254740993',
    '1e21',
    'true',
    'false',
    'null',
    '""',
    '"x"',
    '"é\\n"',
    '"ada@example.com"',
    '"\\u0041"',
    '"4111 1111 1111 1111"',
    '"1"',
    '"yes"',
    '"2026-01-02T03:04:05Z"',
    '[]',
    '[1,{"firstName":2}]',
    '{"firstName":1,"7":2}',
    '{"firstName": "x"}',
    '{"a":1,"a":2}',
  ),
  cellText.map((text) => JSON.stringify(text)),
);

/** Its only row has no cell in the column that a transform names. */
const SHORT_ROW = {
  table: { text: '"a","First Name"\n"true"', ragged: true },
  batch_size: 0 as const,
  null_values: [],
  transforms: [{ type: 'select', config: { fields: ['First Name'] } }],
  masking: undefined,
  quality: undefined,
  contract: undefined,
  sink: 'jsonl' as const,
  limit: undefined,
};

/** Its second line cannot be read as columns, and is read again as a record. */
const TWO_OF_ONE_NAME = {
  lines: ['{"First Name":"true"}', '{"First Name":{"a":1,"a":2}}'],
  batch_size: 1 as const,
  transforms: [],
  masking: undefined,
  quality: undefined,
  contract: undefined,
  sink: 'jsonl' as const,
  limit: undefined,
};

describe('a row in the columns lane', () => {
  it('cannot be told from the same row in the records lane', async () => {
    const settings = fc.record({
      table,
      batch_size: fc.constantFrom(0, 1, 3, 1000),
      null_values: fc.constantFrom<string[]>([], ['', 'null']),
      transforms: fc.array(transform, { maxLength: 4 }),
      masking: sometimes(masking),
      quality: sometimes(quality),
      contract: sometimes(contract),
      sink: fc.constantFrom('jsonl' as const, 'jsonl' as const, 'csv' as const),
      limit: sometimes(fc.integer({ min: 1, max: 5 })),
    });
    await fc.assert(
      fc.asyncProperty(
        settings,
        async ({ table: { text, ragged }, batch_size, null_values, ...scenario }) => {
          await expectSame({
            text,
            source: { flexible: ragged, batch_size, null_values },
            ...scenario,
          });
        },
      ),
      {
        numRuns: 60,
        examples: [[SHORT_ROW]],
      },
    );
  });

  it('cannot be told from the same row in the records lane when it comes from JSON Lines either', async () => {
    const lines = fc.uniqueArray(name, { minLength: 1, maxLength: 4 }).chain((keys) => {
      const record = fc
        .tuple(
          fc.array(jsonText, { minLength: keys.length, maxLength: keys.length }),
          fc.constantFrom('', '', ' '),
          fc.nat({ max: 9 }),
        )
        .map(([values, space, lacking]) => {
          const fields = keys.map(
            (key, index) => `${JSON.stringify(key)}:${space}${values[index]}`,
          );
          return `{${fields.filter((_, index) => index !== lacking).join(`,${space}`)}}`;
        });
      return fc.array(record, { maxLength: 10 });
    });
    const settings = fc.record({
      lines,
      batch_size: fc.constantFrom(0, 1, 3, 1000),
      transforms: fc.array(transform, { maxLength: 4 }),
      masking: sometimes(masking),
      quality: sometimes(quality),
      contract: sometimes(contract),
      sink: fc.constantFrom('jsonl' as const, 'jsonl' as const, 'csv' as const),
      limit: sometimes(fc.integer({ min: 1, max: 5 })),
    });
    await fc.assert(
      fc.asyncProperty(settings, async ({ lines: given, batch_size, ...scenario }) => {
        await expectSame({
          text: `${given.join('\n')}\n`,
          format: 'jsonl',
          source: { batch_size },
          ...scenario,
        });
      }),
      { numRuns: 60, examples: [[TWO_OF_ONE_NAME]] },
    );
  });

  it('writes, masks and diverts what the document asks for', async () => {
    const seen = await expectSame({
      text: 'id,name,mail,paid\n1,Ada,a@x.io,true\n2,,b@x.io,true\n3,"O""Brien",c@x.io,no\n 4 ,"é\n",d@x.io,yes\n',
      transforms: [
        { type: 'rename_field', config: { fields: { name: 'full_name' } } },
        { type: 'cast', config: { fields: { id: 'int', paid: 'bool' } } },
        { type: 'filter', config: { path: 'paid', op: 'eq', value: true } },
      ],
      masking: { rules: [{ match: { fields: ['mail'] }, action: { type: 'redact' } }] },
      contract: {
        version: '1',
        on_breach: 'quarantine',
        fields: [{ name: 'full_name', type: 'string', min_length: 1 }],
      },
    });
    expect(seen.written).toBe(
      '{"id":1,"full_name":"Ada","mail":"***","paid":true}\n{"id":4,"full_name":"é\\n","mail":"***","paid":true}\n',
    );
    expect(JSON.parse(seen.dead)).toMatchObject({
      payload: { id: 2, full_name: '', mail: '***', paid: true },
      record_index: 1,
    });
    expect(seen.outcome.balance).toMatchObject({
      read: 4,
      filtered: 1,
      written: 2,
      dead_lettered: 1,
    });
  });

  it('fails like records do, at the first record that cannot be cast', async () => {
    const seen = await expectSame({
      text: 'a,b\n1,x\ny,2\n',
      transforms: [
        { type: 'cast', config: { fields: { a: 'int' } } },
        { type: 'cast', config: { fields: { b: 'int' } } },
      ],
    });
    expect(seen.outcome.error).toContain('`b` cannot be made `int`');
  });
});
