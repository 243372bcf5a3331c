/**
 * Empty workflows through a queue of DBOS Transact. Prints how many ended in a second, as JSON.
 *
 * `node dbos-empty.ts FOLDER DATABASE_URL COUNT`, where FOLDER has the package installed.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';

/** What is used of it. */
interface Dbos {
  setConfig(config: Readonly<Record<string, unknown>>): void;
  launch(): Promise<void>;
  shutdown(): Promise<void>;
  registerQueue(name: string, options: Readonly<Record<string, number>>): Promise<unknown>;
  registerWorkflow(
    workflow: () => Promise<void>,
    options: { readonly name: string },
  ): () => Promise<void>;
  startWorkflow(
    workflow: () => Promise<void>,
    options: { readonly queueName: string },
  ): () => Promise<unknown>;
}

const CONNECTIONS = 32;
const QUEUE = 'bench';
/** As many as three servers of ours execute, and more than enough for work that takes no time. */
const AT_ONCE = 24;
const WARM_UP = 300;

const [folder = '', url = '', count = ''] = process.argv.slice(2);
const { DBOS } = createRequire(join(folder, 'package.json'))('@dbos-inc/dbos-sdk') as {
  readonly DBOS: Dbos;
};
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: url,
  logLevel: 'error',
  runAdminServer: false,
  applicationVersion: '1',
});
const empty = DBOS.registerWorkflow(() => Promise.resolve(), { name: 'empty' });
await DBOS.launch();
await DBOS.registerQueue(QUEUE, { workerConcurrency: AT_ONCE, minPollingIntervalMs: 20 });
const client = new Client({ connectionString: url });
await client.connect();

/** How many in a second, from the first that is put into the queue to the end of the last. */
async function rateOf(total: number): Promise<number> {
  const begun = performance.now();
  let next = 0;
  const startAll = async (): Promise<void> => {
    while (next++ < total) await DBOS.startWorkflow(empty, { queueName: QUEUE })();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, startAll));
  const open = `SELECT count(*)::integer AS n FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')`;
  while (((await client.query<{ n: number }>(open)).rows[0]?.n ?? 0) > 0) await pause(20);
  return (total / (performance.now() - begun)) * 1000;
}

await rateOf(WARM_UP);
process.stdout.write(JSON.stringify({ perSecond: await rateOf(Number(count)) }));
await client.end();
await DBOS.shutdown();
