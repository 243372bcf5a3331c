/** What a newcomer reads when something is broken: the parts of the message, not its sentences. */
import { symlinkSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder } from './folder.ts';

const folder = makeFolder('errors');
let server: Server;
let port = 0;

beforeAll(async () => {
  folder.write('ok.jsonl', '{"id":1}\n{"id":2}\n');
  folder.write('bad.jsonl', '{"id":1}\n{"id":2,}\n');
  folder.write('ragged.csv', 'a,b\n1,2\n1,2,3\n');
  folder.write('preamble.csv', 'Report\n\nid,name\n1,a\n');
  folder.write('latin.csv', Buffer.from('name\nM\u00fcller\n', 'latin1'));
  folder.write('utf16.csv', Buffer.from('\ufeffid,name\n1,M\u00fcller\n', 'utf16le'));
  folder.write('semicolon.csv', 'a;b\n1;2\n');
  folder.write('quote.csv', 'a,b\n1,"x\n2,y\n');
  folder.write('cut.jsonl.gz', gzipSync('{"id":1}\n'.repeat(10_000)).subarray(0, 60));
  // A link: a defect must not cost the machine its device.
  symlinkSync('/dev/full', join(folder.path, 'device.csv'));
  symlinkSync('circle', join(folder.path, 'circle'));
  const db = new DatabaseSync(join(folder.path, 'shop.db'));
  db.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY CHECK (id < 2))');
  db.close();
  server = createServer((request, response) => {
    response.writeHead(Number(request.url?.slice(1))).end('{"error":"no such thing"}');
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.close();
  folder.remove();
});

const file = (type: string, path: string, more: object = {}): object => ({
  type,
  config: { path, ...more },
});
const OK = file('jsonl', 'ok.jsonl');
const OUT = file('jsonl', 'out.jsonl');
const web = (path: string, scheme = 'http'): object => ({
  type: 'rest',
  config: { base_url: `${scheme}://127.0.0.1:${port}`, path, max_retries: 0 },
});
const sqlite = (config: object): object => ({
  type: 'sqlite',
  config: { database_url: 'sqlite:shop.db?mode=rwc', ...config },
});

/** Pipeline, code, and what the message and the hint have to hold. */
const BROKEN: readonly [string, () => object, string, readonly string[]][] = [
  [
    'a bad JSON line',
    () => ({ source: file('jsonl', 'bad.jsonl'), sink: OUT }),
    'connector_data',
    ['line 2', 'bad.jsonl', 'position 8', 'hint:'],
  ],
  [
    'a ragged CSV row',
    () => ({ source: file('csv', 'ragged.csv'), sink: OUT }),
    'connector_data',
    ['line 3', 'ragged.csv', '3 cells', '`flexible: true`'],
  ],
  [
    'lines above the header',
    () => ({ source: file('csv', 'preamble.csv'), sink: OUT }),
    'connector_data',
    ['line 3', '`skip_rows`'],
  ],
  [
    'another encoding',
    () => ({ source: file('csv', 'latin.csv'), sink: OUT }),
    'connector_data',
    ['line 2', 'UTF-8', '`encoding`'],
  ],
  [
    'a quote that is not closed',
    () => ({ source: file('csv', 'quote.csv'), sink: OUT }),
    'connector_data',
    ['line 2', 'quote'],
  ],
  [
    'a file that is cut off',
    () => ({ source: file('jsonl', 'cut.jsonl.gz', { compression: 'gzip' }), sink: OUT }),
    'connector_data',
    ['cut.jsonl.gz', 'cut off', 'hint:'],
  ],
  [
    'a file that is not there',
    () => ({ source: file('jsonl', 'absent.jsonl'), sink: OUT }),
    'connector_missing',
    ['absent.jsonl', 'does not exist', 'relative paths'],
  ],
  [
    'a full disk',
    () => ({ source: OK, sink: file('jsonl', '/dev/full') }),
    'connector_refused',
    ['/dev/full', 'no space', 'hint:'],
  ],
  [
    'a device where a finished file would get its name',
    () => ({ source: OK, sink: file('file', 'device.csv') }),
    'connector_refused',
    ['device.csv', 'a device', 'hint:'],
  ],
  [
    'links that lead in a circle',
    () => ({ source: file('jsonl', 'circle'), sink: OUT }),
    'connector_refused',
    ['circle', 'links lead in a circle', 'mend the links'],
  ],
  [
    'a name that is too long',
    () => ({ source: OK, sink: file('jsonl', 'x'.repeat(300)) }),
    'connector_refused',
    ['the name is too long', 'shorter'],
  ],
  [
    'a file that is no gzip',
    () => ({ source: file('jsonl', 'ok.jsonl', { compression: 'gzip' }), sink: OUT }),
    'connector_data',
    ['not valid gzip', '`compression`'],
  ],
  [
    'a file that is no database',
    () => ({
      source: {
        type: 'sqlite',
        config: { database_url: 'sqlite:ragged.csv', query: 'select 1' },
      },
      sink: OUT,
    }),
    'connector_data',
    ['file is not a database', 'no SQLite database'],
  ],
  [
    'a schema that is missing in DuckDB',
    () => ({
      source: { type: 'duckdb', config: { database: ':memory:', query: 'select * from nix' } },
      sink: OUT,
    }),
    'connector_missing',
    ['nix', 'hint:'],
  ],
  [
    'HTTP 401',
    () => ({ source: web('/401'), sink: OUT }),
    'connector_auth',
    ['/401', '401', 'no such thing', '`auth`'],
  ],
  [
    'HTTP 404',
    () => ({ source: web('/404'), sink: OUT }),
    'connector_missing',
    ['/404', '`base_url`'],
  ],
  [
    'HTTP 429',
    () => ({ source: web('/429'), sink: OUT }),
    'connector_rate_limited',
    ['429', '`max_retries`'],
  ],
  [
    'HTTP 500',
    () => ({ source: web('/500'), sink: OUT }),
    'connector_http_5xx',
    ['500', 'hint:', 'resilience.retry'],
  ],
  [
    'TLS where there is none',
    () => ({ source: web('/', 'https'), sink: OUT }),
    'connector_connection',
    ['does not speak TLS', '`http://`'],
  ],
  [
    'a host that nobody knows',
    () => ({
      source: {
        type: 'rest',
        config: { base_url: 'http://no.such.host.invalid', path: '/', max_retries: 0 },
      },
      sink: OUT,
    }),
    'connector_connection',
    ['no.such.host.invalid', 'host name'],
  ],
  [
    'a database that nobody runs, without its password',
    () => ({
      source: {
        type: 'postgres',
        config: { connection_url: 'postgres://u:hunter2@127.0.0.1:1/x', query: 'SELECT 1' },
      },
      sink: OUT,
    }),
    'connector_connection',
    ['127.0.0.1:1', 'host and port'],
  ],
  [
    'a table that is not there',
    () => ({ source: sqlite({ query: 'SELECT * FROM nowhere' }), sink: OUT }),
    'connector_missing',
    ['nowhere', 'hint:'],
  ],
  [
    'a constraint',
    () => ({
      source: OK,
      sink: sqlite({ table_name: 'orders', column_mapping: 'auto_map' }),
    }),
    'connector_data',
    ['orders', 'id < 2', 'hint:'],
  ],
  [
    'keys that no record has',
    () => ({
      source: OK,
      sink: sqlite({
        table_name: 'keyed',
        column_mapping: 'auto_map',
        write_mode: 'upsert',
        key: ['idd'],
      }),
    }),
    'connector_data',
    ['2 records cannot be written', 'record 1 of the source', 'key column `idd`', 'hint:'],
  ],
  [
    'a bad cast',
    () => ({
      source: file('csv', 'semicolon.csv', { delimiter: ';' }),
      transforms: [{ type: 'cast', config: { fields: { b: 'bool' } } }],
      sink: OUT,
    }),
    'record_error',
    ['record 1', '`b` is "2"', 'pipeline.transforms[0]', '`dlq`'],
  ],
  [
    'a breach of the contract',
    () => ({
      source: OK,
      sink: OUT,
      contract: { version: '1', fields: [{ name: 'id', type: 'string' }] },
    }),
    'contract_breach',
    ['`id`', 'string', 'record 1 of the source', '`on_breach: quarantine`'],
  ],
  [
    'a failed check',
    () => ({
      source: OK,
      sink: OUT,
      quality: { record: [{ type: 'not_null', field: 'name', on_failure: 'abort' }] },
    }),
    'quality_abort',
    ['`name`', 'not_null', 'record 1 of the source', '`quarantine`'],
  ],
  [
    'a failed check behind a filter',
    () => ({
      source: OK,
      transforms: [{ type: 'filter', config: { path: 'id', op: 'ne', value: 1 } }],
      sink: OUT,
      quality: { record: [{ type: 'not_null', field: 'name', on_failure: 'abort' }] },
    }),
    'quality_abort',
    ['record 1 of page 1, as the transforms left it'],
  ],
];

describe('a run that fails by', () => {
  it.each(BROKEN)(
    '%s says what, where and what to do, once',
    async (_what, pipeline, code, parts) => {
      folder.document('broken.yaml', pipeline());
      const { code: ending, stderr } = await folder.run(['run', 'broken.yaml']);
      expect(ending).toBe(1);
      for (const part of parts) expect(stderr).toContain(part);
      const [message = ''] = stderr.split('\n').filter((line) => line.startsWith('error: '));
      expect(message.endsWith(`[${code}]`), stderr).toBe(true);
      const sentence = message.slice('error: row row-0: '.length, -`  [${code}]`.length);
      expect(stderr.split(sentence).length - 1, 'it is reported more than once').toBe(1);
      expect(stderr).toMatch(/^at: pipeline\.[a-z[\]0-9]+, line \d+ of .*broken\.yaml$/m);
      expect(stderr).toMatch(/^hint: \S/m);
      expect(stderr).not.toMatch(/hunter2|node:internal|at async|\.ts:\d/);
    },
  );
});

describe('what does not fail is reported all the same:', () => {
  it('a delimiter that is probably another one, and a field that never occurs', async () => {
    folder.document('semicolon.yaml', {
      source: file('csv', 'semicolon.csv'),
      sink: OUT,
    });
    const { stderr } = await folder.run(['run', 'semicolon.yaml']);
    expect(stderr).toMatch(/WARN.*one column.*semicolon\.csv.*`delimiter: \\?";\\?"`/);
    folder.document('idd.yaml', {
      source: OK,
      transforms: [
        { type: 'set', config: { values: { made: 1 } } },
        { type: 'drop', config: { fields: ['idd', 'made'] } },
      ],
      sink: OUT,
    });
    const told = (await folder.run(['run', 'idd.yaml'])).stderr.match(/WARN.*no record has.*/g);
    expect(told).toHaveLength(1);
    expect(told?.[0]).toMatch(/field=idd.*did you mean `id`\?/);
  });

  it.each([
    ['latin.csv', { encoding: 'windows-1252' }, [{ name: 'M\u00fcller' }]],
    ['utf16.csv', { encoding: 'utf-16le' }, [{ id: '1', name: 'M\u00fcller' }]],
    ['preamble.csv', { skip_rows: 2 }, [{ id: '1', name: 'a' }]],
    ['semicolon.csv', { delimiter: 'auto' }, [{ a: '1', b: '2' }]],
    ['ok.csv', { delimiter: 'auto' }, [{ 'x;y': '1', z: '2' }]],
  ])('%s is read with %j', async (path, config, records) => {
    folder.write('ok.csv', '"x;y",z\n1,2\n');
    const sources = [file('csv', path, config), file('file', path, { csv: config })];
    for (const source of sources)
      for (const transforms of [[], [{ type: 'flatten', config: {} }]]) {
        folder.document('read.yaml', { source, transforms, sink: OUT });
        const { code, stderr } = await folder.run(['run', 'read.yaml']);
        expect(code, stderr).toBe(0);
        expect(folder.lines('out.jsonl')).toEqual(records);
      }
  });

  it('lines keep their numbers behind lines that are left out', async () => {
    folder.write('late.csv', 'Report\n\na,b\n1,2\n1,2,3\n');
    folder.document('late.yaml', {
      source: file('csv', 'late.csv', { skip_rows: 1 }),
      sink: OUT,
    });
    expect((await folder.run(['run', 'late.yaml'])).stderr).toContain('line 5 of late.csv');
    folder.document('enc.yaml', {
      source: file('csv', 'late.csv', { encoding: 'klingon' }),
      sink: OUT,
    });
    expect((await folder.run(['validate', 'enc.yaml'])).stderr).toContain('windows-1252');
  });
});
