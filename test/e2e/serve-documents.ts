/** Documents the suites submit: a quick one, and some that do not end, or not well. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Body } from './serve-program.ts';

function pipeline(source: Body, sink: Body, more: Body = {}): Body {
  return { version: 1, ...more, pipeline: { source, sink } };
}

export function csvToJsonl(input: string, output: string, more: Body = {}): Body {
  return pipeline({ type: 'csv', config: { path: input } }, { type: 'jsonl', config: { path: output } }, more);
}

/** A query that computes for ever, in one call that hears nothing. `database` is an existing SQLite file. */
export function spinning(database: string, output: string): Body {
  const query = 'with recursive c(i) as (select 1 union all select i + 1 from c) select count(*) as n from c';
  return pipeline({ type: 'sqlite', config: { database_url: database, query } }, { type: 'jsonl', config: { path: output } });
}

/** One page of more text than the heap of a worker holds. */
export function heapEater(database: string, output: string): Body {
  const query =
    'with recursive c(i) as (select 1 union all select i + 1 from c limit 60) select i, hex(zeroblob(50000000)) as filler from c';
  return pipeline(
    { type: 'sqlite', config: { database_url: database, query, batch_size: 0 } },
    { type: 'jsonl', config: { path: output } },
  );
}

/** An API that takes requests and never answers; what reads it waits until it is stopped. */
export async function silentApi(): Promise<{ document(output: string): Body; close(): void }> {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    document: (output) =>
      pipeline(
        { type: 'rest', config: { base_url: `http://127.0.0.1:${port}`, path: '/slow' } },
        { type: 'jsonl', config: { path: output } },
      ),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A pipe that is open for writing and says nothing; reading it blocks a thread of the reader. */
export function silentPipe(path: string): { release(): void } {
  execFileSync('mkfifo', [path]);
  const writer = spawn('sh', ['-c', 'exec 3<>"$0"; exec sleep 600', path], { stdio: 'ignore' });
  return { release: () => void writer.kill('SIGKILL') };
}
