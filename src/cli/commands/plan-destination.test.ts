/** What `plan --live` tells of the destination, against what a run then does with it. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { openDuckdb, duckdbRows } from '../../lib/sql/duckdb.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';
import { freshMariadb, mariadbOrReason, type FreshMariadb } from '../../../test/servers/mariadb.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-destination-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const cli = (line: string): Promise<Done> =>
  runCommand(line.split(' '), testWiring(parts), { cwd });

interface Planned {
  readonly sink_probe: readonly { readonly name: string; readonly status: string }[] | null;
  readonly sample: JsonObject;
}

async function planned(line = 'plan --live --json'): Promise<Planned & { readonly code: number }> {
  const { code, out } = await cli(line);
  return { ...(JSON.parse(out) as Planned), code };
}

interface RowResult {
  readonly status: string;
  readonly rows_out: number;
  readonly dlq_count: number;
  readonly error?: string;
}

async function ran(): Promise<RowResult> {
  const { out } = await cli('run --quiet --output json');
  const [row] = (JSON.parse(out) as { readonly rows: readonly RowResult[] }).rows;
  if (row === undefined) throw new Error(out);
  return row;
}

/** Records that come to a sink; `more` and `top` are further lines of the pipeline and below. */
function write(sink: string, records: readonly JsonObject[], more = '', top = ''): void {
  writeFileSync(
    path.join(cwd, 'headgate.yaml'),
    `version: 1
name: people
pipeline:
  source: { type: jsonl, config: { path: in.jsonl } }
${more}  sink: ${sink}
${top}`,
  );
  writeFileSync(
    path.join(cwd, 'in.jsonl'),
    records.map((record) => `${JSON.stringify(record)}\n`).join(''),
  );
}

const schema = (policy: string): string => `  schema: { on_drift: ${policy} }\n`;
const DLQ = '  dlq: { sink: { type: jsonl, config: { path: dead.jsonl } } }\n';

/** A database in which a run is compared with its plan. */
interface Place {
  readonly sink: string;
  exec(this: void, sql: string): Promise<void>;
  rows(this: void, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

const { reason } = mariadbOrReason();
const postgres = await freshDatabase();
const client = new Client({ connectionString: postgres.url });
let mariadb: FreshMariadb | undefined;
beforeAll(async () => {
  await client.connect();
  if (reason === undefined) mariadb = await freshMariadb();
}, 60_000);
afterAll(async () => {
  await client.end();
  await postgres.drop();
  await mariadb?.drop();
});

const COLUMNS = 'table_name: people, column_mapping: auto_map';

const sqlitePlace = (): Place => {
  const using = <T>(work: (database: DatabaseSync) => T): Promise<T> => {
    using database = new DatabaseSync(path.join(cwd, 'to.db'));
    return Promise.resolve(work(database));
  };
  return {
    sink: `{ type: sqlite, config: { database_url: 'sqlite:to.db', ${COLUMNS} } }`,
    exec: (sql) => using((database) => database.exec(sql)),
    rows: (sql) =>
      using((database) =>
        database
          .prepare(sql)
          .all()
          .map((row) => ({ ...row })),
      ),
  };
};

const places: Readonly<Record<string, () => Place>> = {
  sqlite: sqlitePlace,
  duckdb: () => {
    const rows = async (sql: string): Promise<JsonObject[]> => {
      const { connection, close } = await openDuckdb(path.join(cwd, 'to.duckdb'));
      try {
        return await duckdbRows(connection, sql);
      } finally {
        close();
      }
    };
    return {
      sink: `{ type: duckdb, config: { database: to.duckdb, ${COLUMNS} } }`,
      exec: async (sql) => void (await rows(sql)),
      rows,
    };
  },
  postgres: () => ({
    sink: `{ type: postgres, config: { connection_url: '${postgres.url}', ${COLUMNS} } }`,
    exec: async (sql) => void (await client.query(sql)),
    rows: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
  }),
  mysql: () => ({
    sink: `{ type: mysql, config: { connection_url: '${mariadb?.url}', ${COLUMNS} } }`,
    exec: async (sql) => void (await mariadb?.client.query(sql)),
    rows: async (sql) => {
      const [rows] = (await mariadb?.client.query(sql)) ?? [];
      return (rows as Record<string, unknown>[]).map((row) => ({ ...row }));
    },
  }),
};

/** Which databases make a required column nullable; SQLite keeps it as it is. */
const RELAXES = ['duckdb', 'postgres', 'mysql'];

describe.each(Object.keys(places))('a plan against %s', (type) => {
  const isMissing = type === 'mysql' && reason !== undefined;
  const place = (): Place => places[type]?.() as Place;
  beforeEach(async () => {
    if (!isMissing && type !== 'sqlite' && type !== 'duckdb')
      await place().exec('DROP TABLE IF EXISTS people');
  });
  const make = (): Promise<void> =>
    place().exec(
      'CREATE TABLE people (id integer NOT NULL, age integer, score double precision, must varchar(20) NOT NULL)',
    );
  const stored = () => place().rows('SELECT * FROM people');

  it.skipIf(isMissing)('names the columns that a run adds and widens', async () => {
    await make();
    const records: JsonObject[] = [
      { id: 1, age: 1.5, score: 2, must: 'a', extra: 'x' },
      { id: 2, age: 3, score: null, must: 'b', more: true },
    ];
    write(place().sink, records, schema('evolve'));
    const before = await planned();
    expect(before.code).toBe(0);
    expect(before.sink_probe?.map(({ status }) => status)).not.toContain('fail');
    expect(before.sink_probe).not.toEqual([]);
    expect(before.sample).toMatchObject({
      output_records: 2,
      sink_schema: [
        { name: 'id', nullable: false, has_default: false },
        { name: 'age', nullable: true },
        { name: 'score', types: expect.arrayContaining(['number']) as unknown, nullable: true },
        { name: 'must', nullable: false },
      ],
      schema_delta: {
        schemaless_sink: false,
        additions: [
          { name: 'extra', type: 'string' },
          { name: 'more', type: 'boolean' },
        ],
        widenings: [{ name: 'age', to: 'number', becomes_nullable: false }],
        incompatible: [],
        droppable_required: [],
      },
    });
    expect(before.sample).not.toHaveProperty('error');
    expect(await stored()).toEqual([]);
    expect(await ran()).toMatchObject({ status: 'ok', rows_out: 2 });
    const [first] = await stored();
    expect(Object.keys(first ?? {}).sort()).toEqual(
      ['age', 'extra', 'id', 'more', 'must', 'score'].sort(),
    );
    expect(Number(first?.['age'])).toBe(1.5);
    const again = await planned();
    expect(again.sample['schema_delta']).toMatchObject({ additions: [], incompatible: [] });
    if (type !== 'sqlite') expect(again.sample['schema_delta']).toMatchObject({ widenings: [] });
  });

  it.skipIf(isMissing)('says where a run ends that finds what does not fit', async () => {
    await make();
    for (const policy of ['fail', 'evolve']) {
      write(place().sink, [{ id: { a: 1 }, must: 'a' }], schema(policy));
      const { sample, code } = await planned();
      expect(code).toBe(1);
      expect(sample).toMatchObject({
        output_records: 0,
        inferred_schema: [{ name: 'id', types: ['object'] }, { name: 'must' }],
        schema_delta: {
          additions: [],
          incompatible: [{ name: 'id', record_types: ['object'], only_null: false }],
        },
      });
      const { status, error } = await ran();
      expect(status).toBe('error');
      expect(sample['error']).toBe(error);
      expect(error).toContain('`id` of a type that does not fit');
      expect(await stored()).toEqual([]);
    }
  });

  it.skipIf(isMissing)('names what a run would miss, and what it relaxes', async () => {
    await make();
    write(place().sink, [{ id: 1 }], schema('evolve, relax_nullability_on_missing: true'));
    const { sample } = await planned();
    expect(sample['schema_delta']).toMatchObject({ droppable_required: ['must'] });
    const { status, error } = await ran();
    if (RELAXES.includes(type)) {
      expect(status).toBe('ok');
      expect(await stored()).toMatchObject([{ must: null }]);
      expect((await planned()).sample['schema_delta']).toMatchObject({ droppable_required: [] });
    } else expect(error).toContain('must');
    write(place().sink, [{ id: 1 }], schema('evolve'));
    const refused = (await cli('plan --live')).out.includes('The destination refuses records');
    expect(refused).toBe((await ran()).status === 'error');
    expect(refused).toBe(!RELAXES.includes(type));
  });

  it.skipIf(isMissing)('tells that there is no table yet, and makes none', async () => {
    write(place().sink, [{ id: 1 }], schema('fail'));
    const { code, sample, sink_probe: probes } = await planned();
    expect(code).toBe(0);
    expect(probes?.every(({ status }) => status === 'pass')).toBe(true);
    expect(sample).toMatchObject({
      sink_schema: null,
      schema_delta: { schemaless_sink: false, additions: [], droppable_required: [] },
    });
    expect(readdirSync(cwd).sort()).toEqual(['headgate.yaml', 'in.jsonl']);
    expect((await cli('plan --live')).out).toContain('destination: it is not there yet');
    expect(await ran()).toMatchObject({ status: 'ok', rows_out: 1 });
    expect((await planned()).sample['sink_schema']).toMatchObject([{ name: 'id' }]);
  });
});

describe('what `schema` does about drift', () => {
  const { sink, exec, rows } = sqlitePlace();
  const RECORDS: readonly JsonObject[] = [
    { ID: 1, name: 'ann' },
    { ID: 2, name: 'bo', extra: 'x' },
    { ID: null },
  ];
  beforeEach(() => exec('CREATE TABLE people (id INTEGER NOT NULL, name TEXT)'));

  it.each([
    ['quarantine', 1, 2],
    ['ignore', 3, 0],
    ['warn', 3, 0],
  ])('is done to the sample as it is done in a run: %s', async (policy, output, dead) => {
    const records = policy === 'quarantine' ? RECORDS : [...RECORDS.slice(0, 2), { ID: 3 }];
    write(sink, records, `${schema(policy)}${DLQ}`);
    const { sample, code } = await planned();
    expect(code).toBe(0);
    expect(sample).toMatchObject({
      output_records: output,
      dlq_records: dead,
      schema_delta: {
        additions: [{ name: 'extra', type: 'string' }],
        widenings:
          policy === 'quarantine' ? [{ name: 'id', to: null, becomes_nullable: true }] : [],
      },
    });
    const shown = (await cli('plan --live')).out;
    expect(shown).toContain('not there: extra (string)');
    expect(await ran()).toMatchObject({ rows_out: output, dlq_count: dead });
    const [first] = await rows('SELECT * FROM people');
    expect(Object.keys(first ?? {})).toEqual(['id', 'name']);
  });

  it('is not there without that block, and the differences are told all the same', async () => {
    write(sink, RECORDS.slice(0, 2));
    const { out, code } = await cli('plan --live');
    expect(code).toBe(0);
    expect(out).toContain(
      '  destination: 2 columns: id integer, name string\n    not there: extra (string)\n    The document has no `schema`',
    );
    write(sink, RECORDS.slice(0, 1));
    expect((await cli('plan --live')).out).toContain('    all fields fit\n');
  });

  it('counts the columns that are filled in just before the write', async () => {
    write(sink, [{ id: 1 }], schema('evolve'), 'metadata_columns: {}\n');
    const delta = (await planned()).sample['schema_delta'] as { additions: { name: string }[] };
    const added = delta.additions.map(({ name }) => name);
    expect(added).toContain('_svc_run_id');
    await ran();
    const [first] = await rows('SELECT * FROM people');
    expect(Object.keys(first ?? {}).sort()).toEqual(['id', 'name', ...added].sort());
  });
});

it('leaves alone a database file that is there', async () => {
  const { sink, exec } = sqlitePlace();
  await exec('PRAGMA journal_mode = DELETE; CREATE TABLE people (id INTEGER)');
  const bytes = (): Buffer => readFileSync(path.join(cwd, 'to.db'));
  const before = bytes();
  write(sink, [{ id: 1 }], schema('evolve'));
  await planned();
  expect(bytes().equals(before)).toBe(true);
});

describe('a sink without columns', () => {
  it.each(['plan --live --json', 'plan --sample in.jsonl --json'])(
    'is known as one, by `%s`',
    async (line) => {
      write('{ type: jsonl, config: { path: out.jsonl } }', [{ id: 1 }], schema('warn'));
      const { sample, code } = await planned(line);
      expect(code).toBe(0);
      expect(sample['schema_delta']).toEqual({
        schemaless_sink: true,
        additions: [],
        widenings: [],
        incompatible: [],
        droppable_required: [],
      });
      expect(sample).not.toHaveProperty('sink_schema');
      expect(existsSync(path.join(cwd, 'out.jsonl'))).toBe(false);
    },
  );
});

describe('a server', () => {
  let calls = 0;
  const server = createServer((socket) => {
    calls += 1;
    socket.destroy();
  });
  let url: string;
  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as { port: number };
    url = `postgres://me:hunter2222@127.0.0.1:${port}/d`;
  });
  afterAll(() => void server.close());
  beforeEach(() => {
    calls = 0;
    write(`{ type: postgres, config: { connection_url: '${url}', ${COLUMNS} } }`, [{ id: 1 }]);
  });

  it.each(['plan', 'plan --json', 'plan --sample in.jsonl', 'plan --sample in.jsonl --json'])(
    'is not contacted by `%s`',
    async (line) => {
      const { code, out } = await cli(line);
      expect({ code, calls }).toEqual({ code: 0, calls: 0 });
      if (line.endsWith('--json')) expect(JSON.parse(out)).toHaveProperty('sink_probe', null);
      if (line === 'plan --sample in.jsonl') expect(out).toContain('not looked at; `--live`');
      if (line === 'plan --sample in.jsonl --json')
        expect(JSON.parse(out)).toMatchObject({ sample: { schema_delta: null } });
    },
  );

  it('that does not answer is told in the probe and in the sample, without its password', async () => {
    const { code, out, err } = await cli('plan --live --json');
    expect(code).toBe(1);
    expect(calls).toBeGreaterThan(0);
    expect(out + err).not.toContain('hunter2222');
    expect(JSON.parse(out)).toMatchObject({
      sink_probe: [{ status: 'fail', reason: expect.stringMatching(/./) as string }],
      sample: {
        output_records: 1,
        schema_delta: null,
        error: expect.stringContaining('the columns of the destination cannot be read: ') as string,
      },
    });
    const text = await cli('plan --live');
    expect(text.code).toBe(1);
    expect(text.out).toMatch(/sink probe: \w+ failed: /);
    expect(text.out).not.toContain('hunter2222');
  });

  it('is the only thing that `--sample` and `--live` together contact', async () => {
    writeFileSync(path.join(cwd, 'sample.jsonl'), '{"id":1}\n{"id":2}\n');
    rmSync(path.join(cwd, 'in.jsonl'));
    const { sample } = await planned('plan --sample sample.jsonl --live --json');
    expect(sample).toMatchObject({ source: 'sample.jsonl', input_records: 2 });
    expect(calls).toBeGreaterThan(0);
  });
});

it('a source that cannot be read is told in the sample, beside what is known of the sink', async () => {
  const { sink, exec } = sqlitePlace();
  await exec('CREATE TABLE people (id INTEGER)');
  write(sink, []);
  rmSync(path.join(cwd, 'in.jsonl'));
  const { code, sample, sink_probe: probes } = await planned();
  expect(code).toBe(1);
  expect(probes).toMatchObject([{ status: 'pass' }, { status: 'pass' }]);
  expect(sample).toMatchObject({
    input_records: 0,
    sink_schema: [{ name: 'id' }],
    error: expect.stringContaining('in.jsonl') as string,
  });
  expect((await cli('plan --live')).err).toContain('[connector_missing]');
});

it('a row that depends on records of another is not probed, and says why', async () => {
  write('{ type: jsonl, config: { path: out.jsonl } }', [{ id: 1 }]);
  const text = readFileSync(path.join(cwd, 'headgate.yaml'), 'utf8');
  writeFileSync(
    path.join(cwd, 'headgate.yaml'),
    `${text}matrix: [{ id: a }, { id: b, parent: a, sink: { config: { path: '\${a.id}.jsonl' } } }]\n`,
  );
  expect(await planned('plan --row b --sample in.jsonl --live --json')).toMatchObject({
    code: 0,
    sink_probe: [{ status: 'skip', reason: expect.stringContaining('parent') as string }],
    sample: { schema_delta: { schemaless_sink: true } },
  });
});
