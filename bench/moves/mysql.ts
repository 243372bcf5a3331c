/** Moves out of and into tables of MariaDB. */
import { spawnSync } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { once } from 'node:events';
import { freshMariadb, type FreshMariadb } from '../../test/servers/mariadb.ts';
import { PERSON_FIELDS, personAt } from '../data.ts';
import { expectedDigest } from '../digest.ts';
import { headgateRun, type Bench, type Move, type Side } from '../move.ts';
import type { Command } from '../process.ts';
import { verifyLines } from './files.ts';
import { peopleLines } from './json-lines.ts';

const COLUMNS = `id BIGINT PRIMARY KEY, name TEXT, email TEXT, amount DOUBLE, ts DATETIME(3),
  active TINYINT(1), payload JSON`;
const BATCH = 10_000;

let database: Promise<FreshMariadb> | undefined;

/** A server of its own, with the rows in the table `people`. */
async function withPeople(bench: Bench): Promise<FreshMariadb> {
  database ??= (async () => {
    const fresh = await freshMariadb();
    bench.atEnd(() => fresh.drop());
    await fresh.client.query(`CREATE TABLE people (${COLUMNS})`);
    await load(fresh, 'people', await preparedFile(bench));
    return fresh;
  })();
  return database;
}

/** The rows as LOAD DATA reads them without any option. */
async function preparedFile({ folder, rows }: Bench): Promise<string> {
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
    const { url } = await withPeople(bench);
    const output = join(bench.folder, 'mariadb-jsonl.jsonl');
    const query = 'SELECT * FROM people';
    const source = `{ type: mysql, config: { connection_url: '${url}', query: ${query}, batch_size: ${BATCH} } }`;
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
          document('mariadb-jsonl', source, `{ type: jsonl, config: { path: ${output} } }`),
        ),
        prepare: () => rm(output, { force: true }),
        verify: () => verifyLines(output, PERSON_FIELDS, expected),
        verified: 'record count and hash of every value against the generator',
      },
      others: [
        {
          name: '`mariadb --quick -B` to /dev/null',
          command: discard(client(url, query, '--quick', '-B')),
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
    const fresh = await withPeople(bench);
    const input = peopleLines(bench.folder, bench.rows);
    const path = await preparedFile(bench);
    const [ours, theirs] = ['people_moved', 'people_loaded'];
    const side = (name: string, table: string, command: Command): Side => ({
      name,
      command,
      prepare: async () =>
        void (await fresh.client.query(
          `DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (${COLUMNS})`,
        )),
      verify: () => compare(fresh, table),
      verified: 'row count and checksum of every value, by the server',
    });
    const sink = `{ type: mysql, config: { connection_url: '${fresh.url}', table_name: ${ours}, column_mapping: auto_map } }`;
    const source = `{ type: jsonl, config: { path: ${input}, batch_size: ${BATCH} } }`;
    return {
      rows: bench.rows,
      subject: side(
        'headgate',
        ours,
        headgateRun(bench.folder, 'jsonl-mariadb', document('jsonl-mariadb', source, sink)),
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

async function compare({ client: asked }: FreshMariadb, table: string): Promise<void> {
  const digest = async (name: string): Promise<unknown> => {
    const [rows] = await asked.query(
      `SELECT COUNT(*) AS n, SUM(CRC32(CONCAT_WS('|', id, name, email, amount, ts, active, payload))) AS digest FROM ${name}`,
    );
    return JSON.stringify(rows, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
  };
  const [one, other] = [await digest('people'), await digest(table)];
  if (one !== other) throw new Error(`${table} holds ${String(other)}, people ${String(one)}`);
}

function document(name: string, source: string, sink: string): string {
  return `version: 1\nname: ${name}\npipeline:\n  source: ${source}\n  sink: ${sink}\n`;
}

export const mysqlMoves: readonly Move[] = [toJsonl, fromJsonl];
