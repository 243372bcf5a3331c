import { describe, expect, it } from 'vitest';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Sink, SinkDefinition } from '../../kit/sink.ts';
import { metadataColumnsOf, metadataColumnsSchema } from '../../blocks/metadata-columns/schema.ts';
import { resilienceOf } from '../../blocks/resilience/schema.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import type { ExecuteOptions } from '../engine.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { countedMetrics, run, sqliteTable, type SqliteTable } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  connectionLost,
  fakeSink,
  fakeSource,
  fakeState,
  part,
  planOf,
  plannedRow,
  type FakePage,
} from '../../../test/fakes/plan.ts';
import { readPosition, readToken, tokenText } from './watermark.ts';

const KEY = 'test::row-0';
const PAGES: readonly FakePage[] = [1, 2, 3, 4].map((page) => ({
  records: [{ id: page * 10 }, { id: page * 10 + 1 }],
  bookmark: `at ${page}`,
}));
const ALL = PAGES.flatMap((page) => page.records.map((record) => (record as { id: number }).id));
const idsIn = (table: SqliteTable): unknown[] =>
  table.query('SELECT id FROM t ORDER BY rowid').map((row) => row['id']);
const tokenIn = (table: SqliteTable): unknown =>
  table.query('SELECT scope, token FROM _svc_commit_token')[0]?.['token'];
const stored = (page: number, seq: number): JsonValue => ({
  __svc_commit: 1,
  bookmark: `at ${page}`,
  seq,
});

interface Scenario {
  readonly pages?: readonly FakePage[];
  readonly values?: Map<string, JsonValue>;
  readonly row?: Partial<PlannedRow>;
  readonly execute?: Partial<ExecuteOptions>;
  readonly wrap?: (sink: Sink) => Sink;
  /** The put with this number (from 1) fails. */
  readonly failPut?: number;
}

/** One run of the positional source into the table, exactly once. */
async function move(
  table: SqliteTable,
  { pages = PAGES, values = new Map(), row = {}, execute = {}, wrap, failPut }: Scenario,
) {
  const metrics = countedMetrics();
  const trace: string[] = [];
  const store = fakeState(values);
  let puts = 0;
  const state = {
    ...store,
    open: async (...args: Parameters<typeof store.open>) => {
      const opened = await store.open(...args);
      return {
        ...opened,
        put: (key: string, value: JsonValue) =>
          (puts += 1) === failPut ? Promise.reject(connectionLost()) : opened.put(key, value),
      };
    },
  };
  const sink = table.sink();
  const definition: SinkDefinition = {
    ...sink.definition,
    open: async (config, context) => {
      const opened = await sink.definition.open(config, context);
      return wrap?.(opened) ?? opened;
    },
  };
  const plan = plannedRow(fakeSource(pages, { positional: true, trace }), fakeSink().definition, {
    delivery: 'exactly_once',
    state: part(state),
    sink: { ...sink, definition },
    ...row,
  });
  const outcome = await run(planOf([plan]), {
    env: testEnv({ metrics, clock: stillClock() }),
    ...execute,
  });
  const skipped = metrics.of('svc_pipeline_pages_skipped_total')['{test,row-0}'] ?? 0;
  return { row: outcome.invocations[0], skipped, from: trace[0], values, last: values.get(KEY) };
}

describe('an atomic watermark (spec 2.10)', () => {
  it('is committed with every page, and the state remembers its sequence', async () => {
    using table = sqliteTable();
    const { row, last } = await move(table, {});
    expect(row).toMatchObject({
      status: 'completed',
      bookmark: 'at 4',
      balance: { read: 8, written: 8, withheld: 0 },
    });
    expect(idsIn(table)).toEqual(ALL);
    expect(tokenIn(table)).toBe('00000000000000000004#"at 4"');
    expect(last).toEqual(stored(4, 4));
  });

  it('keeps a page from being written twice after a crash between commit and state', async () => {
    using table = sqliteTable();
    const first = await move(table, { failPut: 2 });
    expect([first.row?.status, first.last, idsIn(table)]).toEqual([
      'failed',
      stored(1, 1),
      ALL.slice(0, 4),
    ]);
    const second = await move(table, { values: first.values });
    expect(second).toMatchObject({ skipped: 1, from: 'read from "at 2"', last: stored(4, 4) });
    expect(idsIn(table)).toEqual(ALL);
  });

  it('leaves out pages by their number where the token holds no bookmark, and the balance says so', async () => {
    using table =
      sqliteTable(`CREATE TABLE t (id INTEGER); CREATE TABLE _svc_commit_token (scope TEXT PRIMARY KEY, token TEXT, updated_at TEXT);
      INSERT INTO _svc_commit_token VALUES ('${KEY}', '00000000000000000003', '')`);
    const { row, skipped, last } = await move(table, { values: new Map([[KEY, stored(1, 1)]]) });
    expect(row).toMatchObject({
      status: 'completed',
      balance: { read: 6, written: 2, withheld: 4 },
    });
    expect([skipped, idsIn(table), last]).toEqual([2, [40, 41], stored(4, 4)]);
  });

  it('takes the bookmark of a run without the guarantee as the start of a sequence', async () => {
    using table = sqliteTable();
    const { from, last } = await move(table, { values: new Map([[KEY, 'at 2']]) });
    expect([from, idsIn(table), last]).toEqual([
      'read from "at 2"',
      [30, 31, 40, 41],
      stored(4, 2),
    ]);
  });

  it('is read as a plain bookmark by a run without the guarantee', async () => {
    using table = sqliteTable();
    const { from, last } = await move(table, {
      values: new Map([[KEY, stored(3, 3)]]),
      row: { delivery: 'at_least_once' },
    });
    expect([from, last]).toEqual(['read from "at 3"', 'at 4']);
  });

  it('ends with the same table wherever the state store fails', async () => {
    for (let failPut = 1; failPut <= PAGES.length; failPut += 1) {
      using table = sqliteTable();
      const { values } = await move(table, { failPut });
      await move(table, { values, failPut: 2 });
      await move(table, { values });
      expect([idsIn(table), values.get(KEY)]).toEqual([ALL, stored(4, 4)]);
    }
  });

  it('finds a commit whose answer was lost instead of repeating it', async () => {
    using table = sqliteTable();
    let lost = 0;
    const wrap = (sink: Sink): Sink => ({
      ...sink,
      tokens: {
        last: (scope) => sink.tokens?.last(scope) ?? Promise.resolve(undefined),
        hold: async (page) => sink.tokens?.hold(page),
        forget: async (scope) => sink.tokens?.forget(scope),
        write: async (page, scope, token) => {
          const result = await sink.tokens?.write(page, scope, token);
          if ((lost += 1) % 2 === 1) throw connectionLost();
          return result ?? { written: 0, rejected: [] };
        },
      },
    });
    const { row } = await move(table, {
      wrap,
      row: { blocks: { resilience: resilienceOf({ retry_on: ['connection'] }) } },
    });
    expect(row).toMatchObject({ status: 'completed', balance: { written: 8 } });
    expect(idsIn(table)).toEqual(ALL);
  });

  it('covers pages that hold nothing but a bookmark, and leaves those without one aside', async () => {
    using table = sqliteTable();
    const pages: FakePage[] = [{ records: [{ id: 1 }] }, { records: [], bookmark: 'at 1' }];
    await move(table, { pages });
    expect([idsIn(table), tokenIn(table)]).toEqual([[1], '00000000000000000001#"at 1"']);
  });

  it('is left alone by dry and limited runs', async () => {
    using table = sqliteTable();
    const { values } = await move(table, { pages: PAGES.slice(0, 1) });
    for (const execute of [{ dryRun: true }, { limit: 1 }]) await move(table, { values, execute });
    expect([tokenIn(table), values.get(KEY)]).toEqual([
      '00000000000000000001#"at 1"',
      stored(1, 1),
    ]);
  });

  it('is committed with stamped records', async () => {
    using table = sqliteTable();
    const metadataColumns = metadataColumnsOf(
      metadataColumnsSchema.parse({ columns: ['sequence'] }),
    );
    await move(table, { row: { metadataColumns } });
    expect(
      table.query('SELECT _svc_sequence AS n FROM t ORDER BY n').map((row) => row['n']),
    ).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('is refused where it turns out at run time that it cannot be kept', async () => {
    const row = plannedRow(fakeSource(PAGES), fakeSink().definition, { delivery: 'exactly_once' });
    expect((await run(planOf([row]))).invocations[0]?.error).toMatchObject({
      kind: 'Config',
      code: 'exactly_once_unreachable',
    });
    const keyed = fakeSink({
      capabilities: { writeMode: 'upsert', key: ['id'], idempotent: true },
    });
    expect(
      (
        await run(
          planOf([plannedRow(fakeSource(PAGES), keyed.definition, { delivery: 'exactly_once' })]),
        )
      ).error,
    ).toBeNull();
  });
});

describe('the text of a token', () => {
  it('is a sequence of twenty digits and the bookmark as JSON, and reads back', () => {
    expect(tokenText(7, { lsn: 'a#b', n: 2n ** 60n })).toBe(
      '00000000000000000007#{"lsn":"a#b","n":1152921504606846976}',
    );
    expect(readToken(tokenText(7, { n: 2n ** 60n }))).toEqual({
      seq: 7,
      bookmark: { n: 2n ** 60n },
    });
    expect(readToken('00000000000000000007')).toEqual({ seq: 7, bookmark: undefined });
    expect(readToken(undefined)).toEqual({ seq: 0, bookmark: undefined });
  });

  it('that somebody else wrote is an error, never no token', () => {
    for (const text of ['', 'x', '7#', '7#{', '-1'])
      expect(() => readToken(text)).toThrow(ConnectorError);
  });

  it('a bookmark that happens to be an object is not mistaken for a position', () => {
    expect(readPosition({ bookmark: 1, seq: 5 })).toEqual({
      bookmark: { bookmark: 1, seq: 5 },
      seq: 0,
    });
  });

  it('are known in stores that another implementation has filled', () => {
    const [bookmark, seq] = [{ last_lsn: '0/16B3748' }, 7];
    expect(readPosition({ __svc_eo: 1, bookmark, seq })).toEqual({ bookmark, seq });
  });
});
