/** What a document, a request or a page of another site can take from a server. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csvToJsonl } from './serve-documents.ts';
import { workshop, type Answer, type Body, type Program } from './serve-program.ts';

const ADMIN = 'admin-token-that-nobody-may-read';
const WRITE = 'write-token-of-the-operator';
const READ = 'löse-wort-€';
const AS_OPERATOR = { authorization: `Bearer ${WRITE}` };
const shop = workshop();
let program: Program;

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n');
  writeFileSync(shop.path('outside.txt'), 'outside');
  mkdirSync(shop.path('root/deep'), { recursive: true });
  writeFileSync(shop.path('root/in.csv'), 'id\n1\n');
  writeFileSync(shop.path('root/key.txt'), 'inside');
  symlinkSync(shop.path('outside.txt'), shop.path('root/link.txt'));
  symlinkSync(shop.path('not-there.jsonl'), shop.path('root/dangling.jsonl'));
  symlinkSync(shop.dir, shop.path('root/deep/up'));
  program = await shop.start({
    args: ['--write-token', WRITE, '--read-token', READ],
    variables: {
      HEADGATE_SERVE_ADMIN_TOKEN: ADMIN,
      HEADER_OF_ADMIN: `Bearer ${ADMIN}`,
      TOKEN_FROM_ELSEWHERE: WRITE,
      ETL_REGION: 'north',
    },
  });
});
afterAll(() => shop.dispose());

function setting(value: string, more: Body = {}): Body {
  const document = csvToJsonl(shop.path('root/in.csv'), shop.path('root/out.jsonl'), more);
  const transforms = [{ type: 'set', config: { values: { taken: value } } }];
  return { ...document, pipeline: { ...(document['pipeline'] as Body), transforms } };
}

function submit(to: Program, config: Body): Promise<Answer> {
  return to.call('POST', '/v1/runs', { config: JSON.stringify(config) }, AS_OPERATOR);
}

describe('the credentials of the server', () => {
  test.each([
    '${env:HEADGATE_SERVE_ADMIN_TOKEN}',
    '${secret:HEADGATE_SERVE_ADMIN_TOKEN}',
    '${env:SVC_SERVE_ADMIN_TOKEN}',
    '${env:SVC_SERVE_HISTORY}',
    '${env:HEADER_OF_ADMIN}',
    '${secret:TOKEN_FROM_ELSEWHERE}',
  ])('cannot be read as %s', async (token) => {
    const answer = await submit(program, setting(token));
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringContaining('holds a credential of the server'),
    ]);
    expect(answer.text).toContain('variable_refused');
    expect(answer.text).not.toContain(ADMIN);
  });

  test('are not in a name either, nor in the environment of the processes that execute documents', async () => {
    const answer = await submit(program, {
      ...csvToJsonl(shop.path('root/in.csv'), shop.path('root/out.jsonl')),
      name: '${env:HEADGATE_SERVE_ADMIN_TOKEN}',
    });
    expect(answer.text).toContain('variable_refused');
    const [worker] = program.workers();
    const environment = readFileSync(`/proc/${worker}/environ`, 'utf8');
    expect(environment).toContain('ETL_REGION=north');
    expect(environment).not.toContain(ADMIN);
    expect(environment).not.toContain(WRITE);
  });

  test('nor are they read from the process itself', async () => {
    const pid = String(program.process.pid);
    const document = csvToJsonl(`/proc/${pid}/environ`, shop.path('root/out.jsonl'));
    const answer = await submit(program, document);
    const { run_id } = answer.json() as { run_id: string };
    await expect
      .poll(
        async () => (await program.call('GET', `/v1/runs/${run_id}`, undefined, AS_OPERATOR)).text,
      )
      .toContain('it belongs to the server');
  });

  test('the start says what is open, and how it is closed', () => {
    expect(program.output()).toContain('documents may read any environment variable');
    expect(program.output()).toContain('--allow-env');
    expect(program.output()).toContain('documents may read and write any file');
    expect(program.output()).toContain('--data-root');
  });
});

describe('a server with `--allow-env` and `--data-root`', () => {
  let closed: Program;
  beforeAll(async () => {
    closed = await shop.start({
      args: [
        '--write-token',
        WRITE,
        '--data-dir',
        shop.path('closed'),
        '--allow-env',
        'ETL_*',
        '--data-root',
        shop.path('root'),
      ],
      variables: { ETL_REGION: 'north', OTHER: 'value' },
    });
  });

  async function endOf(config: Body): Promise<string> {
    const answer = await submit(closed, config);
    if (answer.status !== 202) return answer.text;
    const { run_id } = answer.json() as { run_id: string };
    const read = async (): Promise<string> =>
      (await closed.call('GET', `/v1/runs/${run_id}`, undefined, AS_OPERATOR)).text;
    await expect.poll(read, { timeout: 15_000 }).toMatch(/"status":"(?:completed|failed)"/);
    return read();
  }

  const REFUSED = 'outside of the folder that documents may use';
  const out = (): string => shop.path('root/closed.jsonl');

  test('reads what is allowed and says nothing of open doors', async () => {
    expect(
      await endOf(setting('${env:ETL_REGION} ${file:' + shop.path('root/key.txt') + '}')),
    ).toContain('"completed"');
    expect(readFileSync(shop.path('root/out.jsonl'), 'utf8')).toContain('north inside');
    expect(closed.output()).not.toContain('documents may');
  });

  test('reads no other variable', async () => {
    const answer = await submit(closed, setting('${env:OTHER}'));
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('`--allow-env`')]);
  });

  test.each(['outside.txt', 'root/link.txt', 'root/deep/up/outside.txt', 'root/../outside.txt'])(
    'has no `${file:}` %s',
    async (path) => {
      const answer = await submit(closed, setting('${file:' + shop.path(path) + '}'));
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('file_refused')]);
    },
  );

  test('tells a path outside when the document is submitted, with its place', async () => {
    const config = csvToJsonl(shop.path('in.csv'), shop.path('stolen.jsonl'));
    const answer = await submit(closed, config);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain('pipeline.source.config.path');
    expect(answer.text).toContain('pipeline.sink.config.path');
    expect(answer.text).toContain(REFUSED);
  });

  const query = 'select 1 as id';
  test.each<[string, () => Body]>([
    ['a source', () => csvToJsonl(shop.path('in.csv'), out())],
    ['a source behind a link', () => csvToJsonl(shop.path('root/deep/up/in.csv'), out())],
    ['a sink', () => csvToJsonl(shop.path('root/in.csv'), shop.path('stolen.jsonl'))],
    [
      'a sink behind a link that leads nowhere',
      () => csvToJsonl(shop.path('root/in.csv'), shop.path('root/dangling.jsonl')),
    ],
    [
      'files that a pattern finds behind a link',
      () => ({
        version: 1,
        pipeline: {
          source: { type: 'file', config: { path: shop.path('root/*.txt'), format: 'raw_text' } },
          sink: { type: 'jsonl', config: { path: out() } },
        },
      }),
    ],
    [
      'a SQLite database',
      () => ({
        version: 1,
        pipeline: {
          source: { type: 'csv', config: { path: shop.path('root/in.csv') } },
          sink: {
            type: 'sqlite',
            config: { database_url: shop.path('stolen.db'), table_name: 't' },
          },
        },
      }),
    ],
    [
      'a DuckDB database',
      () => ({
        version: 1,
        pipeline: {
          source: { type: 'duckdb', config: { database: shop.path('stolen.duckdb'), query } },
          sink: { type: 'jsonl', config: { path: out() } },
        },
      }),
    ],
    [
      'a DuckDB database that is written',
      () => ({
        version: 1,
        pipeline: {
          source: { type: 'csv', config: { path: shop.path('root/in.csv') } },
          sink: {
            type: 'duckdb',
            config: { database: shop.path('stolen.duckdb'), table_name: 't' },
          },
        },
      }),
    ],
    ...(
      [
        ['postgres', 'sslrootcert'],
        ['postgres', 'sslkey'],
        ['mysql', 'ssl-ca'],
      ] as const
    ).map(([type, option]): [string, () => Body] => [
      `a certificate of ${type} (${option})`,
      () => {
        const url = `${type}://u:p@127.0.0.1:1/d?${option}=${shop.path('outside.txt')}`;
        return {
          version: 1,
          pipeline: {
            source: { type, config: { connection_url: url, query } },
            sink: { type: 'jsonl', config: { path: out() } },
          },
        };
      },
    ]),
    [
      'Parquet files',
      () => ({
        version: 1,
        pipeline: {
          source: {
            type: 'parquet',
            config: { source: { type: 'glob', pattern: shop.path('*.parquet') } },
          },
          sink: { type: 'jsonl', config: { path: out() } },
        },
      }),
    ],
    [
      'a Parquet file that is written',
      () => ({
        version: 1,
        pipeline: {
          source: { type: 'csv', config: { path: shop.path('root/in.csv') } },
          sink: {
            type: 'parquet',
            config: { destination: { type: 'local_path', path: shop.path('stolen.parquet') } },
          },
        },
      }),
    ],
    ...(
      [
        ['wasm', () => ({ module: shop.path('outside.txt') })],
        [
          'lookup',
          () => ({
            jsonl: shop.path('outside.txt'),
            on: { record: 'id', ref: 'id' },
            add: { a: 'b' },
          }),
        ],
        [
          'sql',
          () => ({
            query: 'SELECT * FROM batch',
            relations: [{ name: 'r', source: { type: 'csv', path: shop.path('outside.txt') } }],
          }),
        ],
      ] as const
    ).map(([type, config]): [string, () => Body] => [
      `what \`${type}\` reads`,
      () => ({
        version: 1,
        pipeline: {
          source: { type: 'csv', config: { path: shop.path('root/in.csv') } },
          transforms: [{ type, config: config() }],
          sink: { type: 'jsonl', config: { path: out() } },
        },
      }),
    ]),
    [
      'a state file',
      () => ({
        version: 1,
        pipeline: {
          source: { type: 'csv', config: { path: shop.path('root/in.csv') } },
          sink: { type: 'jsonl', config: { path: out() } },
          state: { type: 'file', config: { path: shop.path('stolen-state') } },
        },
      }),
    ],
  ])('keeps %s inside', async (_, document) => {
    expect(await endOf(document())).toContain(REFUSED);
    const stolen = ['stolen.jsonl', 'stolen.db', 'stolen.duckdb', 'stolen.parquet', 'stolen-state'];
    for (const name of [...stolen, 'not-there.jsonl'])
      expect(existsSync(shop.path(name)), name).toBe(false);
  });

  test('keeps the statements of DuckDB inside', async () => {
    const content = `select content from read_text('${shop.path('outside.txt')}')`;
    const end = await endOf({
      version: 1,
      pipeline: {
        source: { type: 'duckdb', config: { database: ':memory:', query: content } },
        sink: { type: 'jsonl', config: { path: out() } },
      },
    });
    expect(end).toContain('"failed"');
    expect(existsSync(out()) ? readFileSync(out(), 'utf8') : '').not.toContain('outside');
  });

  test('shows no dead letters from elsewhere', async () => {
    writeFileSync(shop.path('elsewhere.jsonl'), '{"payload":1}\n');
    const body = { location: shop.path('elsewhere.jsonl') };
    const answer = await closed.call('POST', '/v1/dlq/inspect', body, AS_OPERATOR);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(REFUSED)]);
  });
});

describe('names', () => {
  test.each([
    ['name', { name: 'n'.repeat(900_000) }],
    ['matrix[0].id', { matrix: [{ id: 'n'.repeat(900_000) }] }],
  ])('that would grow `/metrics` are refused: %s', async (place, more) => {
    const document = csvToJsonl(shop.path('root/in.csv'), shop.path('root/out.jsonl'), more);
    const answer = await submit(program, document);
    expect([answer.status, answer.text.includes(`"path":"${place}"`)]).toEqual([422, true]);
    expect(answer.text.length).toBeLessThan(5000);
  });

  test('from the environment do not become labels', async () => {
    const document = csvToJsonl(shop.path('root/in.csv'), shop.path('root/out.jsonl'));
    const answer = await submit(program, { ...document, name: 'etl-${env:ETL_REGION}' });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('name_not_public')]);
  });
});

/** The bytes of a request as they are, which no client of the runtime would send. */
async function sendRaw(to: Program, head: readonly string[], body = ''): Promise<string> {
  const { hostname, port } = new URL(to.url);
  const socket = connect(Number(port), hostname);
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  socket.write([...head, length, 'Connection: close', '', body].join('\r\n'));
  return text(socket);
}

describe('requests', () => {
  test('of a method that no route has are a 405 without a token', async () => {
    const answer = await sendRaw(program, ['QUERY /v1/runs HTTP/1.1', 'Host: localhost']);
    expect(answer).toContain('HTTP/1.1 405');
    expect(answer).toContain('method_not_allowed');
    const nowhere = await sendRaw(program, ['QUERY /nowhere HTTP/1.1', 'Host: localhost']);
    expect(nowhere).toContain('HTTP/1.1 404');
  });

  test('with two `Host` headers are refused', async () => {
    const hosts = ['Host: localhost', 'Host: other.example'];
    expect(await sendRaw(program, ['GET /healthz HTTP/1.1', ...hosts])).toContain('HTTP/1.1 400');
  });

  test('are known by a token of any letters', async () => {
    const asked = ['GET /v1/runs HTTP/1.1', 'Host: localhost'];
    const own = await sendRaw(program, [...asked, `Authorization: Bearer ${READ}`]);
    expect(own).toContain('HTTP/1.1 200');
    const other = await sendRaw(program, [...asked, `Authorization: Bearer ${READ}x`]);
    expect(other).toContain('HTTP/1.1 401');
  });

  test('cannot say two things under one key', async () => {
    const config = JSON.stringify(csvToJsonl(shop.path('root/in.csv'), shop.path('root/o.jsonl')));
    const body = `{"config":${JSON.stringify(config)},"labels":{"a \\"b":"1", "a \\u0022b" : "2"}}`;
    const head = ['POST /v1/runs HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'];
    const answer = await sendRaw(program, [...head, `Authorization: Bearer ${WRITE}`], body);
    expect(answer).toContain('HTTP/1.1 400');
    expect(answer).toContain('"code":"duplicate_key"');
    expect(answer).toContain('"path":"labels');
  });

  test('show no value of the query of a callback', async () => {
    const config = csvToJsonl(shop.path('root/in.csv'), shop.path('root/out.jsonl'));
    const url = `${program.url}/nowhere?key=hidden-value&bare-hidden&key=hidden-too#hidden`;
    const answer = await program.call(
      'POST',
      '/v1/runs',
      { config: JSON.stringify(config), callback: { url } },
      AS_OPERATOR,
    );
    const { run_id } = answer.json() as { run_id: string };
    for (const path of [`/v1/runs/${run_id}`, '/v1/runs']) {
      const shown = await program.call('GET', path, undefined, AS_OPERATOR);
      expect(shown.text).toContain('/nowhere?key=***&***&key=***');
      expect(shown.text).not.toContain('hidden');
    }
  });
});

describe('a server without tokens', () => {
  let open: Program;
  beforeAll(async () => {
    open = await shop.start({ args: ['--data-dir', shop.path('open'), '--preview-local-outputs'] });
  });

  test.each(['localhost', 'LOCALHOST:1', '127.0.0.1:8080', '[::1]:8080', '127.0.0.1'])(
    'answers as %s',
    async (host) => {
      const answer = await sendRaw(open, ['GET /healthz HTTP/1.1', `Host: ${host}`]);
      expect(answer).toContain('HTTP/1.1 200');
    },
  );

  test.each([
    'rebound.example',
    'localhost.rebound.example:80',
    '127.0.0.1.rebound.example',
    '10.0.0.1',
  ])('does not answer as %s', async (host) => {
    const answer = await sendRaw(open, ['GET /v1/runs HTTP/1.1', `Host: ${host}`]);
    expect(answer).toContain('HTTP/1.1 403');
    expect(answer).toContain('"code":"forbidden"');
  });

  test('shows no file behind a link that took the place of an output', async () => {
    const path = shop.path('shown.jsonl');
    const run = await open.submit(csvToJsonl(shop.path('in.csv'), path));
    expect((await open.ended(run)).status).toBe('completed');
    const idOfOutput = async (): Promise<string | undefined> => {
      const listed = await open.call('GET', '/v1/local-outputs');
      const { outputs } = listed.json() as { outputs: { id: string; run_id: string }[] };
      return outputs.find(({ run_id }) => run_id === run)?.id;
    };
    // Files come into the ledger when the end of their run is on record.
    await expect.poll(idOfOutput).toBeDefined();
    const id = await idOfOutput();
    expect((await open.call('GET', `/v1/local-outputs/${id}/preview`)).status).toBe(200);
    rmSync(path);
    writeFileSync(shop.path('private.jsonl'), '{"private":true}\n');
    symlinkSync(shop.path('private.jsonl'), path);
    const preview = await open.call('GET', `/v1/local-outputs/${id}/preview`);
    expect([preview.status, preview.text.includes('"private"')]).toEqual([409, false]);
    rmSync(shop.path('private.jsonl'));
    expect((await open.call('GET', `/v1/local-outputs/${id}/preview`)).status).toBe(409);
    expect((await open.call('GET', '/v1/local-outputs')).status).toBe(200);
    const swept = await open.call('POST', '/v1/local-outputs/cleanup', { run_id: run });
    expect(swept.status).toBeLessThan(500);
  });
});
