/** Moves out of, into and between tables of PostgreSQL. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../database.ts';
import { PERSON_FIELDS, peopleFile, personAt } from '../data.ts';
import { expectedDigest } from '../digest.ts';
import { psqlVersion } from '../machine.ts';
import { headgateRun, program, type Move, type Side } from '../move.ts';
import type { Command } from '../process.ts';
import { verifyLines } from './files.ts';

const COLUMNS = PERSON_FIELDS.join(', ');
const TABLES_CHECK = 'row count and hash of every row, by the server';
const BATCH = 10_000;

const toJsonl: Move = {
  kind: 'processes',
  name: 'postgres-jsonl',
  title: 'PostgreSQL → JSON Lines',
  async contest(bench) {
    const { url } = await bench.database();
    const output = join(bench.folder, 'postgres-jsonl.jsonl');
    const sink = `{ type: jsonl, config: { path: ${output} } }`;
    const source = plainSource(url);
    const expected = expectedDigest(bench.rows, (index) => {
      const { id, name, email, amount, ts, active, payload } = personAt(index);
      return [id, name, email, amount, ts, active, JSON.parse(payload)];
    });
    return {
      rows: bench.rows,
      subject: {
        name: 'headgate',
        command: headgateRun(
          bench.folder,
          'postgres-jsonl',
          document('postgres-jsonl', source, sink),
        ),
        prepare: () => rm(output, { force: true }),
        verify: () => verifyLines(output, PERSON_FIELDS, expected),
        verified: 'record count and hash of every value against the generator',
      },
      others: [{ ...discard(url), role: 'baseline', target: 0.8 }],
    };
  },
};

const fromCsv: Move = {
  kind: 'processes',
  name: 'csv-postgres',
  title: 'CSV → PostgreSQL, 7 text columns',
  async contest(bench) {
    const database = await bench.database();
    const { url } = database;
    const input = peopleFile(bench.folder, bench.rows);
    const columns = PERSON_FIELDS.map((name) => `${name} text`).join(', ');
    for (const table of ['people_text', 'people_loaded'])
      await database.execute(`DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (${columns})`);
    await database.load('people_loaded');
    return {
      rows: bench.rows,
      subject: {
        name: 'headgate',
        command: headgateRun(
          bench.folder,
          'csv-postgres',
          document(
            'csv-postgres',
            `{ type: csv, config: { path: ${input}, batch_size: ${BATCH} } }`,
            copySink(url, 'people_text'),
          ),
        ),
        async prepare() {
          await database.execute('TRUNCATE people_text');
          await settle(database, 'people_text');
        },
        verify: () => database.compare('SELECT * FROM people_text', 'SELECT * FROM people_loaded'),
        verified: 'row count and hash of every row against a COPY of the file by the server',
      },
      others: [],
    };
  },
};

const between: Move = {
  kind: 'processes',
  name: 'postgres-postgres',
  title: 'PostgreSQL → PostgreSQL, no stage, with bookmarks',
  async contest(bench) {
    const database = await bench.database();
    const { url } = database;
    await database.execute('CREATE TABLE IF NOT EXISTS people_copy (LIKE people)');
    const state = join(bench.folder, 'postgres-postgres-state');
    const command = headgateRun(
      bench.folder,
      'postgres-postgres',
      `${document('postgres-postgres', incremental(url), copySink(url, 'people_copy'))}  state: { type: file, config: { path: ${state} } }\n`,
    );
    const subject = tableSide(database, 'headgate', command, 'SELECT * FROM people', () =>
      rm(state, { recursive: true, force: true }),
    );
    return {
      rows: bench.rows,
      subject,
      others: [{ ...passThrough(database), role: 'baseline', target: 0.8 }],
    };
  },
};

const transformed: Move = {
  kind: 'processes',
  name: 'postgres-postgres-transformed',
  title: 'PostgreSQL → PostgreSQL, every row transformed (one field upper case, one set)',
  async contest(bench) {
    const database = await bench.database();
    const { url } = database;
    await database.execute('CREATE TABLE IF NOT EXISTS people_copy (LIKE people)');
    const stages = `  transforms:
    - { type: value_case, config: { fields: [email], mode: upper } }
    - { type: set, config: { values: { active: false } } }
`;
    const command = headgateRun(
      bench.folder,
      'postgres-transformed',
      document('postgres-transformed', plainSource(url), copySink(url, 'people_copy')) + stages,
    );
    const expected = 'SELECT id, name, upper(email), amount, ts, false, payload FROM people';
    return {
      rows: bench.rows,
      subject: tableSide(database, 'headgate', command, expected),
      others: [{ ...passThrough(database), role: 'baseline', target: 0.35 }],
    };
  },
};

const upsert: Move = {
  kind: 'processes',
  name: 'postgres-upsert',
  title: 'PostgreSQL upsert, half of the rows present',
  async contest(bench) {
    const database = await bench.database();
    const { url } = database;
    await database.execute(
      'CREATE TABLE IF NOT EXISTS people_keyed (LIKE people, PRIMARY KEY (id))',
    );
    const prepare = async (): Promise<void> => {
      await database.execute('TRUNCATE people_keyed');
      await database.execute(
        `INSERT INTO people_keyed SELECT id, 'old', 'old', 0, ts, false, '{}' FROM people WHERE id % 2 = 0`,
      );
      await settle(database, 'people_keyed');
    };
    const sink = copySink(url, 'people_keyed', ', write_mode: upsert, key: [id]');
    const assignments = PERSON_FIELDS.slice(1).map((column) => `${column} = excluded.${column}`);
    const statement = `INSERT INTO people_keyed SELECT * FROM people ON CONFLICT (id) DO UPDATE SET ${assignments.join(', ')}`;
    const side = (name: string, command: Command): Side => ({
      name,
      command,
      prepare,
      verify: () => database.compare('SELECT * FROM people_keyed', 'SELECT * FROM people'),
      verified: TABLES_CHECK,
    });
    return {
      rows: bench.rows,
      subject: side(
        'headgate',
        headgateRun(
          bench.folder,
          'postgres-upsert',
          document('postgres-upsert', plainSource(url), sink),
        ),
      ),
      others: [
        {
          ...side('one INSERT … ON CONFLICT in the server', statementCommand(url, statement)),
          role: 'baseline',
          target: 0.5,
        },
      ],
    };
  },
};

export const postgresMoves: readonly Move[] = [toJsonl, fromCsv, between, transformed, upsert];

function discard(url: string): Side {
  const statement = `COPY (SELECT ${COLUMNS} FROM people) TO STDOUT`;
  const command =
    psqlVersion() === undefined
      ? program('postgres-discard', url, statement)
      : { argv: ['sh', '-c', 'psql "$0" -qc "$1" > /dev/null', url, statement] };
  return {
    name:
      psqlVersion() === undefined
        ? 'pg-copy-streams COPY text, discarded'
        : 'psql COPY text to /dev/null',
    command,
    verify: async () => {},
    verified: 'nothing: its output is thrown away',
  };
}

/** What moves a table at the least cost that clients know of. */
function passThrough(database: Database): Side {
  const [out, into] = [
    'COPY people TO STDOUT (FORMAT binary)',
    'COPY people_copy FROM STDIN (FORMAT binary)',
  ];
  const { url } = database;
  const command =
    psqlVersion() === undefined
      ? program('postgres-pass', url, out, into)
      : { argv: ['sh', '-c', 'psql "$0" -qc "$1" | psql "$0" -qc "$2"', url, out, into] };
  const name =
    psqlVersion() === undefined ? 'pg-copy-streams, binary COPY' : 'psql | psql, binary COPY';
  return tableSide(database, name, command, 'SELECT * FROM people');
}

function statementCommand(url: string, statement: string): Command {
  return psqlVersion() === undefined
    ? program('postgres-statement', url, statement)
    : { argv: ['psql', url, '-qc', statement] };
}

function tableSide(
  database: Database,
  name: string,
  command: Command,
  expected: string,
  reset?: () => Promise<void>,
): Side {
  return {
    name,
    command,
    async prepare() {
      await reset?.();
      await database.execute('TRUNCATE people_copy');
      await settle(database, 'people_copy');
    },
    verify: () => database.compare('SELECT * FROM people_copy', expected),
    verified: TABLES_CHECK,
  };
}

/** Leaves no work of an earlier run to the server. */
async function settle(database: Database, table: string): Promise<void> {
  await database.execute(`VACUUM ${table}`);
  await database.execute('CHECKPOINT');
}

function plainSource(url: string): string {
  return `{ type: postgres, config: { connection_url: '${url}', query: 'SELECT ${COLUMNS} FROM people', batch_size: ${BATCH} } }`;
}

function incremental(url: string): string {
  const replication = '{ type: incremental, column: id, initial_value: 0 }';
  return plainSource(url).replace(/ } }$/, `, replication: ${replication} } }`);
}

function copySink(url: string, table: string, more = ''): string {
  return `{ type: postgres, config: { connection_url: '${url}', table_name: ${table}, column_mapping: auto_map, write_method: copy, batch_size: ${BATCH}${more} } }`;
}

function document(name: string, source: string, sink: string): string {
  return `version: 1
name: ${name}
pipeline:
  source: ${source}
  sink: ${sink}
`;
}
