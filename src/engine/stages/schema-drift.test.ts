import { describe, expect, it } from 'vitest';
import { schemaDriftSchema } from '../../blocks/schema-drift/schema.ts';
import { metadataColumnsOf, metadataColumnsSchema } from '../../blocks/metadata-columns/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { countedMetrics, run, sqliteTable } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  dlqPlan,
  fakeSink,
  fakeSource,
  fakeState,
  part,
  planOf,
  plannedRow,
} from '../../../test/fakes/plan.ts';
import { columnsOf, compareColumns } from './drift-columns.ts';

const governed = (block: JsonObject, others: PlannedRow['blocks'] = {}): PlannedRow['blocks'] => ({
  ...others,
  schema: schemaDriftSchema.parse(block),
});

/** Moves pages into the table `t` of a real SQLite database under a policy. */
async function move(
  setup: string,
  block: JsonObject,
  pages: readonly (readonly JsonValue[])[],
  overrides: Partial<PlannedRow> = {},
) {
  using table = sqliteTable(setup);
  const metrics = countedMetrics();
  const env = testEnv({ metrics });
  const dead = fakeSink({ name: 'dead' });
  const values = new Map<string, JsonValue>();
  const source = fakeSource(pages.map((records, index) => ({ records, bookmark: index + 1 })));
  const row = plannedRow(source, fakeSink().definition, {
    blocks: governed(block),
    dlq: dlqPlan(dead.definition),
    state: part(fakeState(values)),
    ...overrides,
    sink: table.sink(),
  });
  const outcome = await run(planOf([row]), { env });
  return {
    outcome,
    rows: table.query('SELECT * FROM t'),
    columns: table
      .query("SELECT name, type FROM pragma_table_info('t')")
      .map((one) => `${String(one['name'])} ${String(one['type'])}`),
    dead: dead.records as {
      reason: string;
      payload: JsonValue;
      record_index: number;
      error: { message: string };
    }[],
    drift: metrics.of('svc_schema_drift_total'),
    bookmark: values.get('test::row-0'),
    lines: env.lines.map((line) => line.line),
  };
}

const T = 'CREATE TABLE t (id INTEGER, v INTEGER)';

describe('a page is compared with the columns of the destination (spec 2.11)', () => {
  const compare = (records: readonly JsonValue[], allowWidening = true) => {
    const destination = [
      { name: 'flag', types: ['boolean'] as const, nullable: true },
      { name: 'id', types: ['integer'] as const, nullable: false },
      { name: 'ratio', types: ['number'] as const, nullable: true },
    ];
    return compareColumns(columnsOf(records, undefined), {
      destination,
      allowWidening,
      supplied: new Set(),
    });
  };
  const none = { added: [], widened: [], incompatible: [], onlyNull: [], missing: [] };

  it('finds nothing where types fit, also integers in a number column and nulls where they are allowed', () => {
    expect(compare([{ id: 1, ratio: 2, flag: null }, { id: 2n }, 'text', 7])).toEqual(none);
  });

  it('calls new fields additions of the widest type they hold, sorted by name', () => {
    const added = compare([
      { id: 1, z: null, n: 1, m: 1 },
      { id: 1, n: 1.5, m: 'x' },
      { id: 1, l: [1] },
    ]).added;
    expect(added.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'l array',
      'm string',
      'n number',
      'z string',
    ]);
  });

  it('widens an integer to a number and a required column to a nullable one, unless widening is off', () => {
    expect(compare([{ id: 1.5 }]).widened).toEqual([
      { name: 'id', type: 'number', relaxNull: false },
    ]);
    expect(compare([{ id: null, ratio: 1 }]).widened).toEqual([
      { name: 'id', type: undefined, relaxNull: true },
    ]);
    expect(compare([{ id: 1.5 }], false)).toEqual({ ...none, incompatible: ['id'] });
  });

  it('calls everything else incompatible, and names required columns that no record has', () => {
    expect(compare([{ id: 'x', flag: 1 }])).toEqual({ ...none, incompatible: ['flag', 'id'] });
    expect(compare([{ ratio: 1 }])).toEqual({ ...none, missing: ['id'] });
  });

  it('keeps digits beyond 64 bits as text', () => {
    expect(compare([{ id: 2n ** 63n }]).incompatible).toEqual(['id']);
  });
});

describe('on_drift', () => {
  it('warn counts and logs each drifting page and leaves it as it is', async () => {
    const { rows, drift, lines } = await move(T, {}, [
      [{ id: 1, extra: 1 }],
      [{ id: 2, extra: 1 }],
      [{ id: 3 }],
    ]);
    expect(rows).toHaveLength(3);
    expect(drift).toEqual({ '{test,row-0,sqlite,warn,added}': 2 });
    expect(
      lines.filter((line) => line.includes('the schema drifted: `extra` not in the destination')),
    ).toHaveLength(2);
  });

  it('ignore drops the fields the destination does not have', async () => {
    const { rows, outcome } = await move(T, { on_drift: 'ignore' }, [[{ id: 1, extra: 1 }]]);
    expect(outcome.error).toBeNull();
    expect(rows).toEqual([{ id: 1, v: null }]);
  });

  it('ignore counts the fields that it drops', async () => {
    const pages: JsonValue[][] = [
      [{ id: 1, extra: 1 }, { id: 2 }],
      [{ id: 3, extra: null, other: 1 }],
    ];
    const { outcome } = await move(T, { on_drift: 'ignore' }, pages);
    expect(outcome.invocations[0]?.dropped_fields).toEqual([
      { field: 'extra', records: 2 },
      { field: 'other', records: 1 },
    ]);
  });

  it('fail ends the run before the page is written and keeps what earlier stages put aside', async () => {
    const contract = {
      version: '1',
      on_breach: 'quarantine' as const,
      allow_extra_fields: true,
      fields: [{ name: 'id', type: 'integer' as const, required: true, nullable: false }],
    };
    const { outcome, rows, dead, bookmark } = await move(
      T,
      {},
      [[{ id: 1 }], [{ id: 2, extra: 1 }, { id: null }]],
      {
        blocks: governed({ on_drift: 'fail' }, { contract }),
      },
    );
    expect(outcome.invocations[0]?.error).toMatchObject({
      kind: 'SchemaDrift',
      code: 'schema_drift',
    });
    expect(rows).toEqual([{ id: 1, v: null }]);
    expect(dead.map((one) => [one.reason, one.payload])).toEqual([['contract', { id: null }]]);
    expect(bookmark).toBe(1);
  });

  it('quarantine sends records with a drifted field, or without a required one, to the dead letters', async () => {
    const { rows, dead } = await move(
      'CREATE TABLE t (id INTEGER NOT NULL)',
      { on_drift: 'quarantine' },
      [[{ id: 1 }, { id: 2, extra: 1 }], [{ other: 1 }]],
    );
    expect(rows).toEqual([{ id: 1 }]);
    expect(dead.map((one) => [one.reason, one.payload, one.record_index])).toEqual([
      ['schema_drift', { id: 2, extra: 1 }, 1],
      ['schema_drift', { other: 1 }, 0],
    ]);
    expect(dead[1]?.error.message).toBe(
      'the schema drifted: `other` not in the destination; `id` required but absent',
    );
  });

  it.each([true, false])(
    'a null in a required column is told as such, and not as a wider type (widening: %j)',
    async (widening) => {
      const { outcome } = await move(
        'CREATE TABLE t (id INTEGER NOT NULL, v INTEGER) STRICT',
        { on_drift: 'fail', allow_type_widening: widening },
        [
          [
            { id: null, v: 1 },
            { id: 1, v: 'x' },
          ],
        ],
      );
      const message = outcome.invocations[0]?.error?.message ?? '';
      expect(message).toContain('`id` null where the destination takes none');
      expect(message).toContain('`v` of a type that does not fit');
      expect(message).not.toMatch(/`id` (?:wider|of a type)/);
    },
  );

  it.each([true, false])(
    'quarantine takes the records without a value that is required, and only them (widening %s)',
    async (allow_type_widening) => {
      const { rows, dead, outcome } = await move(
        'CREATE TABLE t (id INTEGER NOT NULL, v INTEGER NOT NULL, d INTEGER NOT NULL DEFAULT 7, n)',
        { on_drift: 'quarantine', allow_type_widening },
        [
          [
            { id: 1, v: 1, n: 1 },
            { id: 2 },
            { v: 3 },
            { id: 4, v: null },
            { id: 5, v: 5, d: null },
          ],
          [{ id: 6, v: 6, d: 6 }],
        ],
      );
      expect(outcome.error).toBeNull();
      expect(rows).toEqual([
        { id: 1, v: 1, d: 7, n: 1 },
        { id: 6, v: 6, d: 6, n: null },
      ]);
      expect(dead.map((one) => [one.payload, one.record_index])).toEqual([
        [{ id: 2 }, 1],
        [{ v: 3 }, 2],
        [{ id: 4, v: null }, 3],
        [{ id: 5, v: 5, d: null }, 4],
      ]);
    },
  );

  it('a column that the database fills itself is not missing', async () => {
    const { drift, outcome } = await move(
      "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v INTEGER, at TEXT NOT NULL DEFAULT 'x')",
      { on_drift: 'fail' },
      [[{ v: 1 }, { v: 2, at: 'y' }]],
    );
    expect([outcome.error, drift]).toEqual([null, {}]);
  });

  it.each(['evolve', 'ignore', 'fail', 'quarantine'] as const)(
    '%s takes names that differ in case only for one column where the database does',
    async (on_drift) => {
      const { rows, columns, dead, outcome } = await move(T, { on_drift }, [[{ ID: 1, V: 2 }]]);
      expect([outcome.error, dead]).toEqual([null, []]);
      expect(columns).toEqual(['id INTEGER', 'v INTEGER']);
      expect(rows).toEqual([{ id: 1, v: 2 }]);
    },
  );

  it('without a `schema` block fields without a column are reported once, counted and in the outcome', async () => {
    const pages: JsonValue[][] = [
      [{ id: 1, extra: 1 }],
      [{ id: 2, extra: 2 }, { id: 3, other: 1 }, { id: 4 }],
    ];
    const { rows, drift, lines, outcome } = await move(T, {}, pages, { blocks: {} });
    expect(rows).toHaveLength(4);
    expect(outcome.invocations[0]?.dropped_fields).toEqual([
      { field: 'extra', records: 2 },
      { field: 'other', records: 1 },
    ]);
    expect(drift).toEqual({ '{test,row-0,sqlite,warn,added}': 3 });
    expect(lines.filter((line) => line.includes('has no column for'))).toEqual([
      expect.stringContaining('extra'),
      expect.stringContaining('other'),
    ]);
  });
});

describe('evolve', () => {
  const evolve = { on_drift: 'evolve' };

  it('adds a column once and then writes the pages', async () => {
    const { rows, columns, drift } = await move(T, evolve, [
      [{ id: 1, extra: 'a' }],
      [{ id: 2, extra: 'b' }],
      [{ id: 3 }],
    ]);
    expect(columns).toEqual(['id INTEGER', 'v INTEGER', 'extra TEXT']);
    expect(rows.map((row) => row['extra'])).toEqual(['a', 'b', null]);
    expect(drift).toEqual({ '{test,row-0,sqlite,evolve,added}': 1 });
  });

  it('widens an integer column, reported once although SQLite keeps its declared type', async () => {
    const { rows, drift } = await move(T, evolve, [[{ v: 1.5 }], [{ v: 2.5 }]]);
    expect(rows.map((row) => row['v'])).toEqual([1.5, 2.5]);
    expect(drift).toEqual({ '{test,row-0,sqlite,evolve,widened}': 1 });
  });

  it('fails on what no type can hold, before anything is changed', async () => {
    const { outcome, columns, rows } = await move(T, evolve, [[{ id: 'x', extra: 1 }]]);
    expect(outcome.invocations[0]?.error).toMatchObject({ kind: 'SchemaDrift' });
    expect(outcome.error?.message).toContain('`id` of a type that does not fit');
    expect([columns, rows]).toEqual([['id INTEGER', 'v INTEGER'], []]);
  });

  it('quarantines only the records that hold the incompatible column, where that is asked for', async () => {
    const { rows, dead, columns } = await move(T, { ...evolve, on_incompatible: 'quarantine' }, [
      [{ v: 'x' }, { id: 2, extra: true }],
    ]);
    expect(rows).toEqual([{ id: 2, v: null, extra: 1 }]);
    expect(dead.map((one) => one.payload)).toEqual([{ v: 'x' }]);
    expect(columns).toContain('extra INTEGER');
  });

  it('gives an existing table the metadata columns too, and never misses them in records', async () => {
    const metadataColumns = metadataColumnsOf(
      metadataColumnsSchema.parse({ columns: ['sequence'] }),
    );
    const { rows } = await move(T, evolve, [[{ id: 5, v: 1 }]], { metadataColumns });
    expect(rows).toEqual([{ id: 5, v: 1, _svc_sequence: 0 }]);
    const required = 'CREATE TABLE t (id INTEGER, _svc_sequence INTEGER NOT NULL)';
    expect(
      (await move(required, { on_drift: 'fail' }, [[{ id: 5 }]], { metadataColumns })).outcome
        .error,
    ).toBeNull();
  });
});

describe('a destination without columns', () => {
  it('makes the policy do nothing, said once', async () => {
    const env = testEnv();
    const sink = fakeSink();
    const pages = [{ records: [{ a: 1 }] }, { records: [{ b: 1 }] }];
    const outcome = await run(
      planOf([
        plannedRow(fakeSource(pages), sink.definition, { blocks: governed({ on_drift: 'fail' }) }),
      ]),
      {
        env,
      },
    );
    expect(outcome.error).toBeNull();
    expect(env.lines.filter((line) => line.line.includes('has no effect'))).toHaveLength(1);
  });

  it('is compared with from the page on that made the table', async () => {
    const { outcome, rows } = await move('', { on_drift: 'fail' }, [
      [{ id: 1 }],
      [{ id: 1, late: 1 }],
    ]);
    expect(outcome.error?.message).toContain('`late` not in the destination');
    expect(rows).toEqual([{ id: 1 }]);
  });

  it('cannot evolve when that turns out at run time', async () => {
    const outcome = await run(
      planOf([
        plannedRow(fakeSource([]), fakeSink().definition, {
          blocks: governed({ on_drift: 'evolve' }),
        }),
      ]),
    );
    expect(outcome.invocations[0]?.error).toMatchObject({
      code: 'evolve_unsupported',
      kind: 'Config',
    });
  });
});
