/** Moves out of and into tables of MariaDB. */
import { spawnSync } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { once } from 'node:events';
import { freshMariadb, type FreshMariadb } from '../../test/servers/mariadb.ts';
import { PERSON_FIELDS, personAt } from '../data.ts';
import { expectedDigest } from '../digest.ts';
import { headgateRun, pipelineDocument, type Bench, type Move, type Side } from '../move.ts';
import type { Command } from '../process.ts';
import { verifyLines } from './files.ts';
import { peopleLines } from './json-lines.ts';

const COLUMNS = `id BIGINT PRIMARY KEY, name TEXT, email TEXT, amount DOUBLE, ts DATETIME(3),
  active TINYINT(1), payload JSON`;
const BATCH = 10_000;

let database: Promise<FreshMariadb> | undefined;
const tables = new Map<number, Promise<unknown>>();

/** A server of its own. */
function serverOf(bench: Bench): Promise<FreshMariadb> {
  database ??= freshMariadb().then((fresh) => {
    bench.atEnd(() => fresh.drop());
    return fresh;
  });
  return database;
}

/** The server, with so many rows in the table `people_ROWS`. */
async function withPeople(bench: Bench, rows: number): Promise<FreshMariadb> {
  const fresh = await serverOf(bench);
  const table = `people_${rows}`;
  const loaded =
    tables.get(rows) ??
    (async () => {
      await fresh.client.query(`CREATE TABLE ${table} (${COLUMNS})`);
      await load(fresh, table, await preparedFile(bench, rows));
    })();
  tables.set(rows, loaded);
  await loaded;
  return fresh;
}

/** A source that reads a table with so many rows. */
export async function tableOfPeople(bench: Bench, rows: number): Promise<string> {
  const { url } = await withPeople(bench, rows);
  return `{ type: mysql, config: { connection_url: '${url}', query: ${queryOf(rows)}, batch_size: ${BATCH} } }`;
}

function queryOf(rows: number): string {
  return `SELECT * FROM people_${rows}`;
}

/** The rows as LOAD DATA reads them without any option. */
async function preparedFile({ folder }: Bench, rows: number): Promise<string> {
  const path = join(folder, `people-${rows}.tsv`);
  if (existsSync(path)) return path;
  const file = createWriteStream(path);
  for (let index = 0; index < rows; index += 1) {
    const { id, name, email, amount, ts, active, payload } = personAt(index);
    const at = ts.replace('T', ' ').replace('Z', '');
    const values = [id, name, email, amount, at, active ? 1 : 0, payload];
    const line = values.map((value) => String(value).replaceAll('\\', '\\\\')).join('\t');
    if (!file.write(`${line}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'finish');
  return path;
}

async function load({ url }: FreshMariadb, table: string, path: string): Promise<void> {
  const [file = '', ...args] = client(url, `LOAD DATA LOCAL INFILE '${path}' INTO TABLE ${table}`);
  const { status, stderr } = spawnSync(file, args);
  if (status !== 0) throw new Error(`the file is not loaded: ${stderr.toString()}`);
}

function client(url: string, statement: string, ...options: readonly string[]): string[] {
  const { hostname, port, username, password, pathname } = new URL(url);
  const login = [
    `-h${hostname}`,
    `-P${port}`,
    `-u${username}`,
    `-p${decodeURIComponent(password)}`,
  ];
  return ['mariadb', ...login, '--local-infile=1', ...options, '-e', statement, pathname.slice(1)];
}

function discard(argv: readonly string[]): Command {
  return { argv: ['sh', '-c', '"$@" > /dev/null', 'sh', ...argv] };
}

const toJsonl: Move = {
  kind: 'processes',
  name: 'mariadb-jsonl',
  title: 'MariaDB → JSON Lines',
  async contest(bench) {
    const source = await tableOfPeople(bench, bench.rows);
    const { url } = await serverOf(bench);
    const output = join(bench.folder, 'mariadb-jsonl.jsonl');
    const expected = expectedDigest(bench.rows, (index) => {
      const { id, name, email, amount, ts, active, payload } = personAt(index);
      return [id, name, email, amount, inMilliseconds(ts), active, JSON.parse(payload)];
    });
    return {
      rows: bench.rows,
      subject: {
        name: 'headgate',
        command: headgateRun(
          bench.folder,
          'mariadb-jsonl',
          pipelineDocument('mariadb-jsonl', {
            source,
            sink: `{ type: jsonl, config: { path: ${output} } }`,
          }),
        ),
        prepare: () => rm(output, { force: true }),
        verify: () => verifyLines(output, PERSON_FIELDS, expected),
        verified: 'record count and hash of every value against the generator',
      },
      others: [
        {
          name: '`mariadb --quick -B` to /dev/null',
          command: discard(client(url, queryOf(bench.rows), '--quick', '-B')),
          verify: async () => {},
          verified: 'nothing: its output is thrown away',
          role: 'baseline',
          target: 0.8,
        },
      ],
    };
  },
};

const fromJsonl: Move = {
  kind: 'processes',
  name: 'jsonl-mariadb',
  title: 'JSON Lines → MariaDB',
  async contest(bench) {
    const fresh = await withPeople(bench, bench.rows);
    const input = peopleLines(bench.folder, bench.rows);
    const path = await preparedFile(bench, bench.rows);
    const [ours, theirs] = ['people_moved', 'people_loaded'];
    const side = (name: string, table: string, command: Command): Side => ({
      name,
      command,
      prepare: async () =>
        void (await fresh.client.query(
          `DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (${COLUMNS})`,
        )),
      verify: () => compare(fresh, table, bench.rows),
      verified: 'row count and checksum of every value, by the server',
    });
    const sink = `{ type: mysql, config: { connection_url: '${fresh.url}', table_name: ${ours}, column_mapping: auto_map } }`;
    const source = `{ type: jsonl, config: { path: ${input}, batch_size: ${BATCH} } }`;
    return {
      rows: bench.rows,
      subject: side(
        'headgate',
        ours,
        headgateRun(
          bench.folder,
          'jsonl-mariadb',
          pipelineDocument('jsonl-mariadb', { source, sink }),
        ),
      ),
      others: [
        {
          ...side('LOAD DATA LOCAL of a prepared file', theirs, {
            argv: client(fresh.url, `LOAD DATA LOCAL INFILE '${path}' INTO TABLE ${theirs}`),
          }),
          role: 'baseline',
          target: 0.8,
        },
      ],
    };
  },
};

/** As the column holds it. */
function inMilliseconds(ts: string): string {
  const [whole = '', fraction = ''] = ts.replace('Z', '').split('.');
  return `${whole}.${fraction.padEnd(3, '0')}Z`;
}

// oxlint-disable-next-line max-params
async function compare(
  { client: asked }: FreshMariadb,
  table: string,
  rows: number,
): Promise<void> {
  const digest = async (name: string): Promise<unknown> => {
    const [answer] = await asked.query(
      `SELECT COUNT(*) AS n, SUM(CRC32(CONCAT_WS('|', id, name, email, amount, ts, active, payload))) AS digest FROM ${name}`,
    );
    return JSON.stringify(answer, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
  };
  const [one, other] = [await digest(`people_${rows}`), await digest(table)];
  if (one !== other) throw new Error(`${table} holds ${String(other)}, the data ${String(one)}`);
}

export const mysqlMoves: readonly Move[] = [toJsonl, fromJsonl];
