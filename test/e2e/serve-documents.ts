/** Documents the suites submit: a quick one, and some that do not end, or not well. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Body } from './serve-program.ts';

function pipeline(source: Body, sink: Body, more: Body = {}): Body {
  return { version: 1, ...more, pipeline: { source, sink } };
}

export function csvToJsonl(input: string, output: string, more: Body = {}): Body {
  return pipeline(
    { type: 'csv', config: { path: input } },
    { type: 'jsonl', config: { path: output } },
    more,
  );
}

/**
 * A query that computes for ever, in one call that hears nothing. `database` is an existing SQLite
 * file.
 */
export function spinning(database: string, output: string): Body {
  const query =
    'with recursive c(i) as (select 1 union all select i + 1 from c) select count(*) as n from c';
  return pipeline(
    { type: 'sqlite', config: { database_url: database, query } },
    { type: 'jsonl', config: { path: output } },
  );
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

/** An API that takes requests and does not answer before it is told to; what reads it waits. */
export async function silentApi(): Promise<{
  document(output: string): Body;
  /** Resolves when a request is waiting. */
  asked(): Promise<void>;
  /** Answers every request that waits, with one record. */
  answer(): void;
  close(): void;
}> {
  const waiting = new Set<ServerResponse>();
  const server = createServer((_request, response) => {
    waiting.add(response);
    // Who has gone away waits no more: the next one would be taken for answered.
    response.on('close', () => waiting.delete(response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    document: (output) =>
      pipeline(
        { type: 'rest', config: { base_url: `http://127.0.0.1:${port}`, path: '/slow' } },
        { type: 'jsonl', config: { path: output } },
      ),
    asked: async () => {
      if (waiting.size === 0) await once(server, 'request');
    },
    answer: () => {
      for (const response of waiting)
        response.setHeader('content-type', 'application/json').end('[{"id":1}]');
      waiting.clear();
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * A pipe that gives the lines of a file, if any, and then stays open and silent: reading it blocks
 * a thread of the reader.
 */
export function silentPipe(path: string, first = '/dev/null'): { release(): void } {
  execFileSync('mkfifo', [path]);
  const writer = spawn('sh', ['-c', 'exec 3<>"$0"; cat "$1" >&3; exec sleep 600', path, first], {
    stdio: 'ignore',
  });
  return { release: () => void writer.kill('SIGKILL') };
}
