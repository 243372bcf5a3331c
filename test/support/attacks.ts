/** Requests that try to keep a server from answering others; for tests and for the benchmark. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Attacked {
  readonly url: string;
  /** For files that attacks need. */
  readonly folder: string;
  /** Where the server keeps its history. */
  readonly dataFolder?: string;
}

export interface Attack {
  readonly name: string;
  /** What the server has to answer. */
  readonly statuses: readonly number[];
  /** Whether it takes the server long: others are answered meanwhile. */
  readonly isLong: boolean;
  /** Sends the request. */
  readonly begin: (attacked: Attacked) => Promise<Response>;
}

export function post(url: string, path: string, body: unknown): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    // A server that never answers fails its test instead of stopping it.
    signal: AbortSignal.timeout(120_000),
  });
}

export function copyDocument(source: unknown, sink: unknown, more: object = {}): string {
  return JSON.stringify({ version: 1, name: 'attack', ...more, pipeline: { source, sink } });
}

const jsonl = (folder: string, name: string): object => ({
  type: 'jsonl',
  config: { path: join(folder, name) },
});

function aliasBomb(): string {
  const lines = ['version: 1', 'name: bomb', 'a0: &a0 [x, x, x, x, x, x, x, x, x]'];
  for (let level = 1; level < 9; level += 1)
    lines.push(
      `a${level}: &a${level} [${Array(9)
        .fill(`*a${level - 1}`)
        .join(', ')}]`,
    );
  return `${lines.join('\n')}\n`;
}

/** SQLite counts for ever, in one call that nothing interrupts. */
const ENDLESS =
  'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';

export const ATTACKS: readonly Attack[] = [
  {
    name: 'a preflight of a query that never ends',
    statuses: [422],
    isLong: true,
    begin: ({ url, folder }) => {
      const config = { database_url: `sqlite:${join(folder, 'endless.db')}`, query: ENDLESS };
      execFileSync(process.execPath, [
        '-e',
        `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(join(folder, 'endless.db'))})
          .exec('CREATE TABLE IF NOT EXISTS t (a)')`,
      ]);
      const source = { type: 'sqlite', config };
      return post(url, '/v1/doctor', {
        config: copyDocument(source, jsonl(folder, 'endless.jsonl')),
      });
    },
  },
  {
    name: 'a matrix of fifteen thousand rows',
    statuses: [422],
    isLong: true,
    begin: ({ url, folder }) => {
      const source = { type: 'csv', config: { path: join(folder, 'in.csv') } };
      const matrix = Array.from({ length: 15_000 }, (_, index) => ({ id: `row-${index}` }));
      const config = copyDocument(source, jsonl(folder, 'rows.jsonl'), { matrix });
      // What stands beside a document is looked at when the document is known to be good.
      return post(url, '/v1/runs', { config, clock: 'never' });
    },
  },
  {
    name: 'a token that names a pipe',
    statuses: [400],
    isLong: false,
    begin: ({ url, folder }) => {
      const pipe = join(folder, 'attack.pipe');
      if (!existsSync(pipe)) execFileSync('mkfifo', [pipe]);
      const source = { type: 'csv', config: { path: `\${file:${pipe}}` } };
      return post(url, '/v1/runs', { config: copyDocument(source, jsonl(folder, 'pipe.jsonl')) });
    },
  },
  {
    name: 'a pattern of sixteen braces',
    statuses: [400],
    isLong: false,
    begin: ({ url, folder }) =>
      post(url, '/v1/dlq/inspect', { location: `${folder}/${'{a,b}'.repeat(16)}/*.jsonl` }),
  },
  {
    name: 'a pattern over the whole machine',
    statuses: [200, 400, 503],
    isLong: true,
    begin: ({ url }) => post(url, '/v1/dlq/inspect', { location: '/**/no-such-*.jsonl' }),
  },
  {
    name: 'a queue whose line is a hundred megabytes long',
    statuses: [200, 400, 503],
    isLong: true,
    begin: ({ url, folder }) => {
      const path = join(folder, 'long-line.jsonl');
      if (!existsSync(path))
        writeFileSync(path, `{"payload":[${Array(10_000_000).fill('12345678').join(',')}1]}\n`);
      return post(url, '/v1/dlq/inspect', { location: path, limit: 0 });
    },
  },
  {
    name: 'aliases of aliases in YAML',
    statuses: [400, 422],
    isLong: false,
    begin: ({ url }) => post(url, '/v1/runs', { config: aliasBomb(), config_format: 'yaml' }),
  },
  {
    name: 'a document of a hundred thousand levels',
    statuses: [400, 422],
    isLong: false,
    begin: ({ url }) =>
      post(url, '/v1/runs', {
        config: `{"version":1,"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
        config_format: 'json',
      }),
  },
  {
    name: 'a body of a hundred thousand levels',
    statuses: [400, 422],
    isLong: false,
    begin: ({ url }) =>
      post(url, '/v1/runs', `{"config":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
  },
  {
    name: 'a body that is too large',
    statuses: [413],
    isLong: false,
    begin: ({ url }) => post(url, '/v1/runs', { config: 'x'.repeat(3_000_000) }),
  },
  {
    name: 'a pattern that backtracks',
    statuses: [202, 400, 422],
    isLong: false,
    begin: ({ url, folder }) => {
      const source = { type: 'csv', config: { path: 'in.csv' } };
      const contract = {
        version: '1.0.0',
        fields: [{ name: 'id', type: 'string', pattern: '^(a+)+$' }],
      };
      const masking = {
        key: 'not-a-real-key',
        rules: [{ name: 'all', match: { field_pattern: '(x+x+)+y' }, action: { type: 'redact' } }],
      };
      const document = { contract, masking };
      const config = JSON.stringify({
        version: 1,
        name: 'backtracks',
        pipeline: { source, sink: jsonl(folder, 'backtracks.jsonl'), ...document },
      });
      return post(url, '/v1/runs', { config });
    },
  },
];

/** Holds the lock of a database file, in a process of its own. */
export async function holdLock(path: string): Promise<{ release(): Promise<void> }> {
  const code = `const { DatabaseSync } = require('node:sqlite');
    const db = new DatabaseSync(${JSON.stringify(path)}, { timeout: 10000 });
    db.exec('BEGIN EXCLUSIVE');
    process.stdout.write('held');
    process.stdin.resume().on('end', () => { db.exec('ROLLBACK'); db.close(); });`;
  const holder = spawn(process.execPath, ['-e', code], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  return {
    async release() {
      holder.stdin.end();
      await once(holder, 'exit');
    },
  };
}
