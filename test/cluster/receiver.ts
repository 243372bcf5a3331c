/** Takes completion callbacks, and counts them by run. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Receiver {
  readonly url: string;
  /** Events of a run, such as `run.completed`. */
  of(runId: string): readonly string[];
  close(): void;
}

export async function receiver(): Promise<Receiver> {
  const events = new Map<string, string[]>();
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const { run_id, event } = JSON.parse(text) as { run_id: string; event: string };
      events.set(run_id, [...(events.get(run_id) ?? []), event]);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    of: (runId) => events.get(runId) ?? [],
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
