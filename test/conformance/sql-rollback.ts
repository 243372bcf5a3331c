/** What rolling a run back means at a table; each database runs it against the real thing. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { quoteName } from '../../src/lib/sql/sql-name.ts';
import { Page } from '../../src/kit/page.ts';
import { check } from '../../src/kit/schema.ts';
import type { Sink } from '../../src/kit/sink.ts';
import type {
  RollbackMode,
  SinkRollbackRequest,
  SinkRollbackResult,
} from '../../src/kit/rollback.ts';
import { testContext } from '../fakes/env.ts';
import { ROLLBACK_LOG_TABLE, previousName } from '../../src/connectors/_sql/rollback-log.ts';
import type { SqlHarness } from './sql-sink.ts';

const RUN = '_svc_run_id';

interface Run {
  readonly id: string;
  readonly mode: RollbackMode;
  readonly config: JsonObject;
  readonly pages: readonly (readonly JsonObject[])[];
}

export function sqlRollbackSuite(harness: SqlHarness): void {
  const open = async (config: JsonObject): Promise<Sink> => {
    const checked = check(harness.definition.config, {
      ...harness.connection,
      column_mapping: 'auto_map',
      ...config,
    });
    if (!checked.ok)
      throw new Error(checked.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; '));
    return harness.definition.open(checked.value, testContext('/'));
  };
  const withSink = async <T>(config: JsonObject, work: (sink: Sink) => Promise<T>): Promise<T> => {
    const sink = await open(config);
    try {
      return await work(sink);
    } finally {
      await sink.close();
    }
  };
  const run = ({ id, mode, config, pages }: Run): Promise<void> =>
    withSink(config, async (sink) => {
      await sink.rollback?.record({ runId: id, mode, column: RUN });
      for (const page of pages) {
        await sink.write(Page.ofRecords(page.map((record) => ({ ...record, [RUN]: id }))), {
          partial: false,
        });
      }
      await sink.flush();
      await sink.finish('success');
    });
  const rollBack = (
    { id, mode, config }: Pick<Run, 'id' | 'mode' | 'config'>,
    more: Partial<SinkRollbackRequest> = {},
  ): Promise<SinkRollbackResult> =>
    withSink(config, (sink) => {
      if (sink.rollback === undefined) throw new Error('the sink cannot roll back');
      return sink.rollback.apply({
        runId: id,
        mode,
        column: RUN,
        dryRun: false,
        force: false,
        ...more,
      });
    });
  const rows = async (table: string): Promise<string[]> =>
    (await harness.query(`SELECT * FROM ${quoteName(table)}`))
      .map((row) => JSON.stringify(row))
      .sort();
  const keyed = (table: string, more: JsonObject = {}): JsonObject => ({
    table_name: table,
    write_mode: 'upsert',
    key: ['id'],
    ...more,
  });

  test('an appending run goes by its id, and only its rows', async () => {
    const table = harness.table();
    const config = { table_name: table };
    await run({ id: 'r1', mode: 'append', config, pages: [[{ id: 1 }, { id: 2 }]] });
    const before = await rows(table);
    await run({ id: 'r2', mode: 'append', config, pages: [[{ id: 3 }], [{ id: 4 }]] });
    expect(await rollBack({ id: 'r2', mode: 'append', config }, { dryRun: true })).toEqual({
      applied: false,
      deleted: 2,
      restored: 0,
      conflicts: 0,
    });
    expect(await rollBack({ id: 'r2', mode: 'append', config })).toEqual({
      applied: true,
      deleted: 2,
      restored: 0,
      conflicts: 0,
    });
    expect(await rows(table)).toEqual(before);
  });

  test('a table that is there gets the column for the id', async () => {
    const table = harness.table();
    await harness.exec(`CREATE TABLE ${quoteName(table)} (id INTEGER)`);
    await run({ id: 'r1', mode: 'append', config: { table_name: table }, pages: [[{ id: 1 }]] });
    expect(await rows(table)).toEqual([JSON.stringify({ id: 1, [RUN]: 'r1' })]);
  });

  test('an upsert gives back what it replaced and takes away what it added', async () => {
    const table = harness.table();
    await run({
      id: 'r1',
      mode: 'upsert',
      config: keyed(table),
      pages: [
        [
          { id: 1, name: 'a' },
          { id: 2, name: 'b' },
        ],
      ],
    });
    const before = await rows(table);
    await run({
      id: 'r2',
      mode: 'upsert',
      config: keyed(table, { delete_marker: { field: 'op', values: ['d'] } }),
      pages: [
        [
          { id: 1, name: 'x' },
          { id: 3, name: 'c' },
        ],
        [
          { id: 1, name: 'y' },
          { id: 2, op: 'd' },
        ],
      ],
    });
    const result = { deleted: 1, restored: 2, conflicts: 0 };
    expect(await rollBack({ id: 'r2', mode: 'upsert', config: keyed(table) })).toEqual({
      applied: true,
      ...result,
    });
    expect(await rows(table)).toEqual(before);
    // Whoever asks again hears the same.
    expect(await rollBack({ id: 'r2', mode: 'upsert', config: keyed(table) })).toEqual({
      applied: true,
      ...result,
    });
    expect(await withSink(keyed(table), async (sink) => sink.rollback?.applied('r2'))).toEqual({
      applied: true,
      ...result,
    });
    expect(await rows(table)).toEqual(before);
  });

  test('rows that a deleting run removed come back, also several with one key', async () => {
    const table = harness.table();
    await run({
      id: 'r1',
      mode: 'append',
      config: { table_name: table },
      pages: [
        [
          { id: 1, n: 1 },
          { id: 1, n: 2 },
          { id: 2, n: 3 },
        ],
      ],
    });
    const before = await rows(table);
    const config = { table_name: table, write_mode: 'delete', key: ['id'] };
    await run({ id: 'r2', mode: 'upsert', config, pages: [[{ id: 1 }, { id: 9 }]] });
    expect(await rows(table)).toHaveLength(1);
    expect(await rollBack({ id: 'r2', mode: 'upsert', config })).toEqual({
      applied: true,
      deleted: 0,
      restored: 2,
      conflicts: 0,
    });
    expect(await rows(table)).toEqual(before);
  });

  test('columns that the table got since the run keep what stands in them, in rows that come back too', async () => {
    const table = harness.table();
    await run({
      id: 'r1',
      mode: 'upsert',
      config: keyed(table),
      pages: [
        [
          { id: 1, n: 1 },
          { id: 2, n: 1 },
        ],
      ],
    });
    const config = keyed(table, { delete_marker: { field: 'op', values: ['d'] } });
    await run({
      id: 'r2',
      mode: 'upsert',
      config,
      pages: [
        [
          { id: 1, n: 2 },
          { id: 2, op: 'd' },
        ],
      ],
    });
    await harness.exec(
      `ALTER TABLE ${quoteName(table)} ADD COLUMN note TEXT NOT NULL DEFAULT 'none'`,
    );
    await harness.exec(`UPDATE ${quoteName(table)} SET note = 'by hand'`);
    expect(await rollBack({ id: 'r2', mode: 'upsert', config: keyed(table) })).toMatchObject({
      applied: true,
      restored: 2,
    });
    expect(await rows(table)).toEqual([
      JSON.stringify({ id: 1, n: 1, [RUN]: 'r1', note: 'by hand' }),
      JSON.stringify({ id: 2, n: 1, [RUN]: 'r1', note: 'none' }),
    ]);
  });

  test('a column that is gone cannot get back what stood in it: nothing changes without force', async () => {
    const table = harness.table();
    const name = 'the "name"';
    const first = [
      { id: 1, n: 1, [name]: 'a' },
      { id: 2, n: 1, [name]: 'b' },
    ];
    await run({ id: 'r1', mode: 'upsert', config: keyed(table), pages: [first] });
    await run({
      id: 'r2',
      mode: 'upsert',
      config: keyed(table),
      pages: [[{ id: 1, n: 2, [name]: 'x' }]],
    });
    await harness.exec(`ALTER TABLE ${quoteName(table)} RENAME COLUMN ${quoteName(name)} TO title`);
    const before = await rows(table);
    const again = { id: 'r2', mode: 'upsert', config: keyed(table) } as const;
    for (const dryRun of [true, false])
      await expect(rollBack(again, { dryRun })).rejects.toThrow(`no column \`${name}\` any more`);
    expect(await rows(table)).toEqual(before);
    expect(await rollBack(again, { force: true })).toMatchObject({ applied: true, restored: 1 });
    expect(await rows(table)).toEqual([
      JSON.stringify({ id: 1, n: 1, title: 'x', [RUN]: 'r1' }),
      JSON.stringify({ id: 2, n: 1, title: 'b', [RUN]: 'r1' }),
    ]);
  });

  test('what an overwrite replaced stays where it is kept while a column of it is gone', async () => {
    const table = harness.table();
    const config = { table_name: table, write_mode: 'overwrite' };
    await run({ id: 'r1', mode: 'overwrite', config, pages: [[{ id: 1, n: 1 }]] });
    await run({ id: 'r2', mode: 'overwrite', config, pages: [[{ id: 2, n: 2 }]] });
    await harness.exec(`ALTER TABLE ${quoteName(table)} RENAME COLUMN n TO m`);
    await expect(rollBack({ id: 'r2', mode: 'overwrite', config })).rejects.toThrow(
      'no column `n` any more',
    );
    expect(await rollBack({ id: 'r2', mode: 'overwrite', config }, { force: true })).toMatchObject({
      applied: true,
      restored: 1,
    });
    expect(await rows(table)).toEqual([JSON.stringify({ id: 1, m: null, [RUN]: 'r1' })]);
  });

  test('a column that another page of the run was the first to have is empty again', async () => {
    const table = harness.table();
    await run({
      id: 'r1',
      mode: 'upsert',
      config: keyed(table),
      pages: [
        [
          { id: 1, n: 1 },
          { id: 2, n: 1 },
        ],
      ],
    });
    await withSink(keyed(table), async (sink) => {
      await sink.rollback?.record({ runId: 'r2', mode: 'upsert', column: RUN });
      await sink.write(Page.ofRecords([{ id: 1, n: 2, [RUN]: 'r2' }]), { partial: false });
      await sink.schema?.evolve?.({
        add: [{ name: 'extra', type: 'string' }],
        widen: [],
        relaxNull: [],
      });
      await sink.write(
        Page.ofRecords([
          { id: 1, extra: 'a', [RUN]: 'r2' },
          { id: 2, extra: 'b', [RUN]: 'r2' },
        ]),
        { partial: false },
      );
      await sink.flush();
    });
    expect(await rollBack({ id: 'r2', mode: 'upsert', config: keyed(table) })).toMatchObject({
      applied: true,
      restored: 2,
    });
    expect(await rows(table)).toEqual([
      JSON.stringify({ id: 1, n: 1, [RUN]: 'r1', extra: null }),
      JSON.stringify({ id: 2, n: 1, [RUN]: 'r1', extra: null }),
    ]);
  });

  test('what a later run changed or removed is a conflict, and nothing changes without force', async () => {
    const table = harness.table();
    await run({
      id: 'r1',
      mode: 'upsert',
      config: keyed(table),
      pages: [
        [
          { id: 1, n: 1 },
          { id: 2, n: 1 },
          { id: 3, n: 1 },
        ],
      ],
    });
    await run({ id: 'r2', mode: 'upsert', config: keyed(table), pages: [[{ id: 1, n: 2 }]] });
    await run({
      id: 'r3',
      mode: 'upsert',
      config: { table_name: table, write_mode: 'delete', key: ['id'] },
      pages: [[{ id: 2 }]],
    });
    const before = await rows(table);
    const first = { id: 'r1', mode: 'upsert', config: keyed(table) } as const;
    expect(await rollBack(first)).toEqual({
      applied: false,
      deleted: 0,
      restored: 0,
      conflicts: 2,
    });
    expect(await rollBack(first, { dryRun: true })).toEqual({
      applied: false,
      deleted: 0,
      restored: 0,
      conflicts: 2,
    });
    expect(await rows(table)).toEqual(before);
    expect(await rollBack(first, { force: true })).toEqual({
      applied: true,
      deleted: 2,
      restored: 0,
      conflicts: 2,
    });
    expect(await rows(table)).toEqual([]);
  });

  test('an overwrite gives back the table as it was, and the next one takes its place', async () => {
    const table = harness.table();
    const config = { table_name: table, write_mode: 'overwrite' };
    await run({ id: 'r1', mode: 'overwrite', config, pages: [[{ id: 1 }, { id: 2 }]] });
    const before = await rows(table);
    await run({ id: 'r2', mode: 'overwrite', config, pages: [[{ id: 7 }]] });
    expect(await rows(previousName(table))).toEqual(before);
    await expect(rollBack({ id: 'r1', mode: 'overwrite', config })).rejects.toThrow(
      'not kept any more',
    );
    expect(await rollBack({ id: 'r2', mode: 'overwrite', config }, { dryRun: true })).toEqual({
      applied: false,
      deleted: 1,
      restored: 2,
      conflicts: 0,
    });
    expect(await rollBack({ id: 'r2', mode: 'overwrite', config })).toEqual({
      applied: true,
      deleted: 1,
      restored: 2,
      conflicts: 0,
    });
    expect(await rows(table)).toEqual(before);
    await expect(rows(previousName(table))).rejects.toThrow();
  });

  test('the first overwrite made the table, so rolling it back takes it away', async () => {
    const table = harness.table();
    const config = { table_name: table, write_mode: 'overwrite' };
    await run({ id: 'r1', mode: 'overwrite', config, pages: [[{ id: 1 }]] });
    expect(await rollBack({ id: 'r1', mode: 'overwrite', config })).toEqual({
      applied: true,
      deleted: 1,
      restored: 0,
      conflicts: 0,
    });
    await expect(rows(table)).rejects.toThrow();
  });

  test('rows that came after an overwrite are conflicts', async () => {
    const table = harness.table();
    const config = { table_name: table, write_mode: 'overwrite' };
    await run({ id: 'r1', mode: 'overwrite', config, pages: [[{ id: 1 }]] });
    await run({ id: 'r2', mode: 'append', config: { table_name: table }, pages: [[{ id: 2 }]] });
    expect(await rollBack({ id: 'r1', mode: 'overwrite', config })).toMatchObject({
      applied: false,
      conflicts: 1,
    });
    expect(await rows(table)).toHaveLength(2);
  });

  test('rows that were swept are kept, too', async () => {
    const table = harness.table();
    const config = keyed(table);
    await run({
      id: 'r1',
      mode: 'upsert',
      config,
      pages: [
        [
          { id: 1, g: 'a' },
          { id: 2, g: 'a' },
          { id: 3, g: 'b' },
        ],
      ],
    });
    const before = await rows(table);
    await withSink(config, async (sink) => {
      await sink.rollback?.record({ runId: 'r2', mode: 'upsert', column: RUN });
      await sink.write(Page.ofRecords([{ id: 1, g: 'a', [RUN]: 'r2' }]), { partial: false });
      await sink.flush();
      expect(await sink.sweep?.({ scope: { g: 'a' }, keys: [[1]] })).toBe(1);
    });
    expect(await rows(table)).toHaveLength(2);
    expect(await rollBack({ id: 'r2', mode: 'upsert', config })).toEqual({
      applied: true,
      deleted: 0,
      restored: 2,
      conflicts: 0,
    });
    expect(await rows(table)).toEqual(before);
  });

  test('the watermark goes back in the same unit', async () => {
    const table = harness.table();
    const config = { table_name: table };
    const last = (): Promise<string | undefined> =>
      withSink(config, async (sink) => sink.tokens?.last('s'));
    await withSink(config, async (sink) => {
      await sink.tokens?.write(Page.ofRecords([{ id: 1, [RUN]: 'r1' }]), 's', 'one');
      await sink.tokens?.write(Page.ofRecords([{ id: 2, [RUN]: 'r2' }]), 's', 'two');
    });
    await rollBack(
      { id: 'r2', mode: 'append', config },
      { watermark: { scope: 's', token: 'one' } },
    );
    expect(await last()).toBe('one');
    await rollBack(
      { id: 'r1', mode: 'append', config },
      { watermark: { scope: 's', token: undefined } },
    );
    expect(await last()).toBeUndefined();
  });

  test('what is forgotten leaves nothing behind', async () => {
    const table = harness.table();
    await run({ id: 'f1', mode: 'upsert', config: keyed(table), pages: [[{ id: 1 }]] });
    await run({
      id: 'f2',
      mode: 'overwrite',
      config: { table_name: table, write_mode: 'overwrite' },
      pages: [[{ id: 2 }]],
    });
    await withSink(keyed(table), async (sink) => sink.rollback?.forget(['f1', 'f2']));
    expect(
      await harness.query(`SELECT * FROM ${ROLLBACK_LOG_TABLE} WHERE table_name = '${table}'`),
    ).toEqual([]);
    await expect(rows(previousName(table))).rejects.toThrow();
  });

  test('odd names of columns are no obstacle', async () => {
    const table = harness.table();
    const config = keyed(table, { key: ['a "b"'] });
    await run({
      id: 'r1',
      mode: 'upsert',
      config,
      pages: [[{ 'a "b"': 1, "it's": 'x', '$.x': 1, '0': 'n' }]],
    });
    const before = await rows(table);
    await run({
      id: 'r2',
      mode: 'upsert',
      config,
      pages: [[{ 'a "b"': 1, "it's": 'y', '$.x': 2, '0': 'm' }]],
    });
    await rollBack({ id: 'r2', mode: 'upsert', config });
    expect(await rows(table)).toEqual(before);
  });

  const value = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constant(null),
    fc.constantFrom('', 'null', "'", '[]'),
  );
  const record = fc.record({
    id: fc.integer({ min: 1, max: 6 }),
    text: value.map(storable),
    real: fc.double({ noNaN: true, noDefaultInfinity: true }),
  });
  const marked = fc
    .tuple(record, fc.constantFrom('d', 'u', 'u'))
    .map(([one, op]): JsonObject => ({ ...one, op }));
  const history = fc.array(fc.array(fc.array(marked, { maxLength: 5 }), { maxLength: 3 }), {
    minLength: 1,
    maxLength: 4,
  });

  test('whatever came before, rolling the last run back gives the table as it was', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.boolean(), async (runs, byDeleting) => {
        const table = harness.table();
        await harness.exec(
          `CREATE TABLE ${quoteName(table)} (id INTEGER PRIMARY KEY, text TEXT, real DOUBLE PRECISION)`,
        );
        const upserting = keyed(table, { delete_marker: { field: 'op', values: ['d'] } });
        const last = runs.length - 1;
        const images: string[][] = [];
        const configOf = (index: number): JsonObject =>
          byDeleting && index === last ? keyed(table, { write_mode: 'delete' }) : upserting;
        for (const [index, pages] of runs.entries()) {
          images.push(await rows(table));
          await run({ id: `p${index}`, mode: 'upsert', config: configOf(index), pages });
        }
        for (let index = last; index >= 0; index -= 1) {
          expect(
            await rollBack({ id: `p${index}`, mode: 'upsert', config: configOf(index) }),
          ).toMatchObject({ applied: true, conflicts: 0 });
          if (index > 0) expect(await rows(table)).toEqual(images[index]);
          else expect(await rows(table)).toEqual([]);
        }
      }),
      { numRuns: 12 },
    );
  });
}

/** PostgreSQL stores no text with a NUL or half a character. */
function storable(text: string | null): string | null {
  return text === null ? null : text.replaceAll('\0', '').toWellFormed();
}
