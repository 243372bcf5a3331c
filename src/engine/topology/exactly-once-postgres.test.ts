/**
 * What a real PostgreSQL makes of the claim: two tables, one source, and a run that is cut off
 * again and again.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runGraph, type GraphDocument, type GraphParts } from '../../../test/fakes/graph.ts';
import { fakeSource, fakeState } from '../../../test/fakes/plan.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { postgresSink } from '../../connectors/postgres/index.ts';
import { StopReason } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';

const database = await freshDatabase();
const client = new Client({ connectionString: database.url });

beforeAll(() => client.connect());
afterAll(async () => {
  await client.end();
  await database.drop();
});

const sink = (table: string): JsonObject => ({
  kind: 'sink',
  type: 'table',
  config: { connection_url: database.url, table_name: table, column_mapping: 'auto_map' },
});

const document: GraphDocument = {
  nodes: {
    in: { kind: 'source', type: 'in' },
    t: { kind: 'tee' },
    one: sink('one'),
    two: sink('two'),
  },
  edges: [
    ['in', 't'],
    ['t', 'one'],
    ['t', 'two'],
  ],
  pipeline: { state: { type: 'fake' } },
  top: { delivery: 'exactly_once' },
};

test(
  'two tables hold every record once after runs that were killed and state that was lost',
  { timeout: 60_000 },
  async () => {
    await client.query('CREATE TABLE one (id bigint); CREATE TABLE two (id bigint)');
    const pages = Array.from({ length: 10 }, (_, page) => ({
      records: [{ id: 2 * page }, { id: 2 * page + 1 }],
      bookmark: page + 1,
    }));
    const values = new Map<string, JsonValue>();
    const parts = (beforePage: (index: number) => void): GraphParts => ({
      sources: { in: fakeSource(pages, { positional: true, beforePage }) },
      sinks: { table: postgresSink },
      state: fakeState(values),
    });
    for (let turn = 0; turn < 5; turn += 1) {
      const killer = new AbortController();
      const kill = (index: number): void =>
        index === 3 ? killer.abort(new StopReason('kill', 'gone')) : undefined;
      await runGraph(document, parts(kill), { killSignal: killer.signal });
      values.delete(turn % 2 === 0 ? 'graph::one' : 'graph::two');
    }
    const last = await runGraph(
      document,
      parts(() => {}),
    );
    expect(last.error).toBeNull();
    for (const table of ['one', 'two']) {
      const { rows } = await client.query<{ id: number }>(
        `SELECT id::int FROM ${table} ORDER BY id`,
      );
      expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, id) => id));
    }
  },
);
