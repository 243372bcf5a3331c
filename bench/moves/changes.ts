/** Changes of a table of PostgreSQL, beside a reader that throws them away. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PERSON_FIELDS, personAt } from '../data.ts';
import { expectedDigest, type Digest } from '../digest.ts';
import { headgateRun, pipelineDocument, type Bench, type Move } from '../move.ts';
import type { Database } from '../database.ts';
import { verifyLines } from './files.ts';

/** Changes of one transaction. */
const TRANSACTION = 100;
const PUBLICATION = 'bench_changes';
/** Slots stand before the changes for good; copies of it are read. */
const START = 'bench_start';
const BATCH = 10_000;

/** So many changes, one half records that are made and the other half the same ones changed. */
export interface Changes {
  readonly database: Database;
  readonly rows: number;
  /** Position of the log behind the last change. */
  readonly end: string;
  /** Puts a slot before the first change. */
  rewind(slot: string): Promise<void>;
  source(slot: string): string;
}

export async function changesOfPeople(bench: Bench, rows: number): Promise<Changes> {
  const known = made.get(rows) ?? makeChanges(bench, rows);
  made.set(rows, known);
  return known;
}

const made = new Map<number, Promise<Changes>>();

async function makeChanges(bench: Bench, rows: number): Promise<Changes> {
  const database = await bench.database();
  const [start, publication, table] = [START, PUBLICATION, 'changed'].map(
    (name) => `${name}_${rows}`,
  ) as [string, string, string];
  const half = Math.floor(rows / 2);
  await database.execute(
    `CREATE TABLE ${table} (LIKE people INCLUDING ALL);
     CREATE PUBLICATION ${publication} FOR TABLE ${table}`,
  );
  await database.execute(`SELECT pg_create_logical_replication_slot('${start}', 'pgoutput')`);
  await database.execute(`SET synchronous_commit = off`);
  await database.execute(`DO $$
    DECLARE since bigint;
    BEGIN
      FOR since IN SELECT generate_series(0, ${half - 1}, ${TRANSACTION}) LOOP
        INSERT INTO ${table} SELECT one, name, email, amount, ts, active, payload
          FROM generate_series(since + 1, least(since + ${TRANSACTION}, ${half})) AS one
          JOIN people ON people.id = (one - 1) % ${bench.rows} + 1 ORDER BY one;
        COMMIT;
      END LOOP;
      FOR since IN SELECT generate_series(0, ${half - 1}, ${TRANSACTION}) LOOP
        UPDATE ${table} SET active = NOT active
          WHERE id > since AND id <= least(since + ${TRANSACTION}, ${half});
        COMMIT;
      END LOOP;
    END $$`);
  const end = await database.ask('SELECT pg_current_wal_lsn()::text');
  const url = new URL(database.url);
  return {
    database,
    rows: half * 2,
    end,
    async rewind(slot) {
      await database.execute(
        `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '${slot}'`,
      );
      await database.execute(`SELECT pg_copy_logical_replication_slot('${start}', '${slot}')`);
    },
    source: (slot) =>
      `{ type: postgres-cdc, config: { connection_url: '${url.href}', slot_name: ${slot}, publication_name: ${publication}, max_messages: ${half * 2}, batch_size: ${BATCH} } }`,
  };
}

const toJsonl: Move = {
  kind: 'processes',
  name: 'postgres-cdc-jsonl',
  title: `Changes of PostgreSQL → JSON Lines, with bookmarks, transactions of ${TRANSACTION}`,
  async contest(bench) {
    const changes = await changesOfPeople(bench, bench.rows);
    const output = join(bench.folder, 'postgres-cdc-jsonl.jsonl');
    const state = join(bench.folder, 'postgres-cdc-jsonl-state');
    const document = pipelineDocument('postgres-cdc-jsonl', {
      source: changes.source('bench_ours'),
      sink: `{ type: jsonl, config: { path: ${output} } }`,
      more: `  state: { type: file, config: { path: ${state} } }\n`,
    });
    const expected = expectedChanges(changes.rows);
    return {
      rows: changes.rows,
      subject: {
        name: 'headgate',
        command: headgateRun(bench.folder, 'postgres-cdc-jsonl', document),
        async prepare() {
          await rm(output, { force: true });
          await rm(state, { recursive: true, force: true });
          await changes.rewind('bench_ours');
        },
        verify: () => verifyLines(output, PERSON_FIELDS, expected, 'after'),
        verified: 'count of the changes and hash of every new value against the generator',
      },
      others: [
        {
          name: '`pg_recvlogical` to /dev/null',
          command: {
            argv: [
              'pg_recvlogical',
              '-d',
              changes.database.url,
              '--slot',
              'bench_theirs',
              '--start',
              '--no-loop',
              '--endpos',
              changes.end,
              '-f',
              '/dev/null',
              '-o',
              'proto_version=1',
              '-o',
              `publication_names=${PUBLICATION}_${bench.rows}`,
            ],
          },
          prepare: () => changes.rewind('bench_theirs'),
          verify: async () => {},
          verified: 'nothing: what it receives is thrown away',
          role: 'baseline',
        },
      ],
    };
  },
};

export const changeMoves: readonly Move[] = [toJsonl];

function expectedChanges(rows: number): Digest {
  const half = rows / 2;
  return expectedDigest(rows, (index) => {
    const { id, name, email, amount, ts, active, payload } = personAt(index % half);
    const isChanged = index >= half;
    return [id, name, email, amount, ts, isChanged ? !active : active, JSON.parse(payload)];
  });
}
