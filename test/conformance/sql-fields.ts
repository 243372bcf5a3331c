/** Which column a field goes to, and what happens to the others, in every SQL sink. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ConnectorError } from '../../src/lib/errors.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { quoteName } from '../../src/lib/sql/sql-name.ts';
import { Page } from '../../src/kit/page.ts';
import type { Sink } from '../../src/kit/sink.ts';
import type { SqlHarness } from './sql-sink.ts';

export interface FieldTools {
  readonly open: (config: JsonObject) => Promise<Sink>;
  readonly run: (config: JsonObject, pages: readonly JsonValue[][]) => Promise<void>;
  readonly rows: (table: string) => Promise<JsonObject[]>;
  readonly failure: (work: Promise<unknown>) => Promise<ConnectorError>;
}

const WHOLE = { partial: false };

export function sqlFieldsSuite(
  harness: SqlHarness,
  { open, run, rows, failure }: FieldTools,
): void {
  const ignoresCase = harness.definition.type !== 'postgres';
  const auto = (table: string, more: JsonObject = {}): JsonObject => ({
    table_name: table,
    column_mapping: 'auto_map',
    ...more,
  });
  const keyed = (table: string): JsonObject => auto(table, { write_mode: 'upsert', key: ['id'] });
  const made = async (columns: string): Promise<string> => {
    const table = harness.table();
    await harness.exec(`CREATE TABLE ${quoteName(table)} (${columns})`);
    return table;
  };

  test('fields without a column are counted with the records that have them', async () => {
    const table = await made('id INTEGER');
    const sink = await open(auto(table));
    const page = Page.ofRecords([{ id: 1, b: 1 }, { id: 2, b: null, c: [1] }, { id: 3 }]);
    const { unknownFields, written } = await sink.write(page, WHOLE);
    expect([written, [...(unknownFields ?? [])]]).toEqual([
      3,
      [
        ['b', 2],
        ['c', 1],
      ],
    ]);
    expect(await sink.write(Page.ofRecords([{ id: 4 }]), WHOLE)).toEqual({
      written: 1,
      rejected: [],
    });
    await sink.flush();
    await sink.close();
    expect(await rows(table)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }]);
  });

  test.runIf(ignoresCase)('names that differ only in case are one column', async () => {
    const table = await made('"Id" INTEGER, b TEXT');
    await run(auto(table), [[{ id: 1, B: 'x' }], [{ ID: 2, b: 'y' }, { Id: 3 }]]);
    expect(await rows(table)).toEqual([
      { Id: 1, b: 'x' },
      { Id: 2, b: 'y' },
      { Id: 3, b: null },
    ]);
    const fresh = harness.table();
    await run(auto(fresh), [[{ Id: 1 }, { id: 2 }]]);
    const first = harness.definition.type === 'oracle' ? 'id' : 'Id';
    expect(await rows(fresh)).toEqual([{ [first]: 1 }, { [first]: 2 }]);
    for (const target of [table, harness.table()]) {
      const error = await failure(run(auto(target), [[{ id: 4, ID: 5 }]]));
      expect(error.message).toContain('"id" and "ID", which are one column');
    }
    expect(await rows(table)).toHaveLength(3);
  });

  test.runIf(ignoresCase)('a key finds its column in any case, for deletions too', async () => {
    const table = await made('"Id" INTEGER PRIMARY KEY, b TEXT');
    const config = { ...keyed(table), delete_marker: { field: 'op', values: ['d'] } };
    await run(config, [
      [
        { id: 1, b: 'x' },
        { id: 2, b: 'y' },
      ],
      [
        { id: 1, b: 'z' },
        { id: 2, op: 'd' },
      ],
    ]);
    expect(await rows(table)).toEqual([{ Id: 1, b: 'z' }]);
  });

  test.runIf(!ignoresCase)(
    'a field that differs from a column only in case is refused',
    async () => {
      const table = await made('id INTEGER, b TEXT');
      const error = await failure(
        run(auto(table), [
          [
            { id: 1, b: 'x' },
            { Id: 2, b: 'y' },
          ],
        ]),
      );
      expect([error.code, error.message, error.hint]).toEqual([
        'connector_data',
        expect.stringMatching(/field "Id" .* column "id" differ only in case/),
        expect.stringContaining('"id"'),
      ]);
      expect(await rows(table)).toEqual([]);
      await run(auto(table), [[{ id: 1, ID: 2 }]]);
      expect(await rows(table)).toEqual([{ id: 1, b: null }]);
    },
  );

  const LONG = 'ä'.repeat(31) + 'xy';
  test.runIf(!ignoresCase)(
    'names that the database would cut are refused before anything is written',
    async () => {
      const [long, cut] = [LONG, LONG.slice(0, -1)];
      expect([Buffer.byteLength(long), Buffer.byteLength(cut)]).toEqual([64, 63]);
      for (const page of [[{ id: 1, [long]: 'x' }], [{ [cut]: 1, [long]: 2 }]]) {
        const error = await failure(run(auto(harness.table()), [page]));
        expect([error.code, error.message]).toEqual([
          'connector_data',
          expect.stringContaining(`${JSON.stringify(long)} has 64 bytes`),
        ]);
      }
      const table = await made(`id INTEGER, ${quoteName(cut)} TEXT`);
      const near = await failure(run(auto(table), [[{ id: 1, [long]: 'x' }]]));
      expect(near.message).toContain('the same only when the name is cut');
      await run(auto(table), [[{ id: 1, [cut]: 'x' }]]);
      expect(await rows(table)).toEqual([{ id: 1, [cut]: 'x' }]);
      const sink = await open(auto(table));
      const add = [{ name: long, type: 'string' as const }];
      const evolved = sink.schema?.evolve?.({ add, widen: [], relaxNull: [] });
      expect((await failure(Promise.resolve(evolved))).message).toContain('64 bytes');
      await sink.close();
      const named = await failure(open(auto(long)));
      expect(named.message).toContain('the table name');
    },
  );

  const refusesLong = ['mysql', 'mssql', 'oracle'].includes(harness.definition.type);
  test.runIf(ignoresCase && !refusesLong)('long names are kept whole', async () => {
    const [long, table] = ['n'.repeat(300), harness.table()];
    await run(auto(table), [[{ [long]: 1, [`${long}2`]: 2 }]]);
    expect(await rows(table)).toEqual([{ [long]: 1, [`${long}2`]: 2 }]);
  });

  test('a column with a default gets it where a record has no value, whatever its neighbours have', async () => {
    const table = await made("id INTEGER, made TEXT DEFAULT 'here'");
    await run(auto(table), [
      [{ id: 1 }, { id: 2, made: 'there' }, { id: 3, made: null }, { id: 4 }],
    ]);
    expect(await rows(table)).toEqual([
      { id: 1, made: 'here' },
      { id: 2, made: 'there' },
      { id: 3, made: null },
      { id: 4, made: 'here' },
    ]);
  });

  test('an upsert changes what each record has, as if it were alone', async () => {
    const value = fc.option(fc.constantFrom('x', 'y', 'z'));
    const record = fc.record(
      { id: fc.integer({ min: 1, max: 4 }), a: value, b: value, c: value },
      { requiredKeys: ['id'] },
    );
    const pages = fc.array(fc.array(record, { minLength: 1, maxLength: 6 }), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(pages, async (written) => {
        const table = await made("id INTEGER PRIMARY KEY, a TEXT, b TEXT DEFAULT 'b', c TEXT");
        await run(keyed(table), written);
        const model = new Map<number, JsonObject>();
        for (const one of written.flat()) {
          const before = model.get(one.id) ?? { id: one.id, a: null, b: 'b', c: null };
          model.set(one.id, { ...before, ...one });
        }
        const expected = [...model].sort(([x], [y]) => x - y).map(([, row]) => row);
        expect(await rows(table)).toEqual(expected);
      }),
      { numRuns: 25 },
    );
  });

  test('keys that only the database finds equal are written in their order', async () => {
    const table = await made('id INTEGER PRIMARY KEY, a TEXT, b TEXT');
    await run(keyed(table), [
      [
        { id: 1, a: 'first' },
        { id: 2, b: 'other' },
        { id: '01', b: 'second' },
        { id: '001', a: 'third' },
      ],
    ]);
    expect(await rows(table)).toEqual([
      { id: 1, a: 'third', b: 'second' },
      { id: 2, a: null, b: 'other' },
    ]);
  });
}
