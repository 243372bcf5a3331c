/**
 * Servers that share a queue while everything around them fails, by a schedule that a seed decides.
 * `npm run torture -- --minutes N --seed N` does it for as long as wanted.
 *
 * What it proves in the end: every run that was accepted ended exactly once and nothing was written
 * of it behind that; one that completed has every record in its place, and where it delivers exactly
 * once, each of them once; nobody was called back twice, or for another end than the one on record.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { Client } from 'pg';
import { tcpProxy } from '../fakes/tcp-proxy.ts';
import { startPostgres } from '../servers/postgres.ts';
import { eventually } from '../support/eventually.ts';
import { childrenOf, workshop, type Program } from '../e2e/serve-program.ts';
import { CLOCKS, clockVariables, setClock } from './clocks.ts';
import { receiver } from './receiver.ts';
import { ROWS, WatchedDatabase } from './watched-database.ts';

const MINUTES = Number(process.env['HEADGATE_TORTURE_MINUTES'] ?? '0.2');
const SEED = Number(process.env['HEADGATE_TORTURE_SEED'] ?? '1');
const SERVERS = 3;
const MOST_RUNS = 5;
const ENDED = ['completed', 'failed', 'cancelled'];
/** After the last fault everything has to end. */
const SETTLING_MS = 240_000;
const ANSWER_MS = 5000;

const postgres = await startPostgres({ fsync: true });
const shop = workshop();
const callbacks = await receiver();
const { hostname, port } = new URL(postgres.url);
const proxy = await tcpProxy({ host: hostname, port: Number(port) });
afterAll(async () => {
  await shop.dispose();
  callbacks.close();
  await proxy.close();
  await postgres.stop();
});

/** The same numbers for the same seed (mulberry32). */
function numbersOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What is submitted where does not change which faults there are. */
const random = numbersOf(SEED);
const chosen = numbersOf(SEED + 1);
const between = (low: number, high: number): number => low + random() * (high - low);
const oneOf = <T>(all: readonly T[], next = random): T => {
  const one = all[Math.floor(next() * all.length)];
  if (one === undefined) throw new Error('there is none');
  return one;
};

const through = new URL(postgres.url);
through.port = String(proxy.port);
const SETTINGS =
  '--cluster --max-concurrent-runs 3 --lease-ttl-secs 4 --cluster-max-attempts 1000 --shutdown-handover --callback-allow-host 127.0.0.1'.split(
    ' ',
  );
const startServer = (index: number): Promise<Program> =>
  shop.start({
    args: ['--history', through.href, ...SETTINGS],
    variables: clockVariables(shop.path(`clock-${index}`)),
  });

function signalAll({ process: { pid = 0 } }: Program, signal: NodeJS.Signals): void {
  for (const one of [pid, ...childrenOf(pid)])
    try {
      process.kill(one, signal);
    } catch {
      // It has ended.
    }
}

const servers: Program[] = [];
const said: string[] = [];
const note = (what: string): void => void said.push(what);

async function replace(index: number): Promise<void> {
  servers[index] = await eventually(() => startServer(index), { timeout: 60_000, interval: 500 });
}

/** What can happen, and how it is over. */
const FAULTS: Readonly<Record<string, () => Promise<void>>> = {
  async kill() {
    const index = Math.floor(random() * SERVERS);
    const server = servers[index];
    if (server !== undefined) signalAll(server, 'SIGKILL');
    await replace(index);
  },
  async 'hand over'() {
    const index = Math.floor(random() * SERVERS);
    await servers[index]?.stop();
    await replace(index);
  },
  async 'freeze server and workers'() {
    const server = oneOf(servers);
    signalAll(server, 'SIGSTOP');
    await sleep(between(500, 9000));
    signalAll(server, 'SIGCONT');
  },
  async 'freeze the server alone'() {
    const { pid = 0 } = oneOf(servers).process;
    process.kill(pid, 'SIGSTOP');
    await sleep(between(500, 9000));
    process.kill(pid, 'SIGCONT');
  },
  async 'freeze the workers'() {
    const { pid = 0 } = oneOf(servers).process;
    const workers = childrenOf(pid);
    const signal = (what: NodeJS.Signals): void => {
      for (const worker of workers)
        try {
          process.kill(worker, what);
        } catch {
          // It has ended.
        }
    };
    signal('SIGSTOP');
    await sleep(between(500, 9000));
    signal('SIGCONT');
  },
  async 'cut the history off'() {
    proxy.cut();
    await sleep(between(200, 7000));
    proxy.heal();
  },
  async 'silence the history'() {
    proxy.freeze();
    await sleep(between(200, 7000));
    proxy.heal();
  },
  /** The server ends all its processes then, and recovers. */
  async 'crash the database'() {
    const database = await WatchedDatabase.again(postgres.url);
    const ended = new Promise((resolve) => database.client.once('error', resolve));
    const { rows } = await database.client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL');
    await ended;
    await eventually(async () => (await WatchedDatabase.again(postgres.url)).close());
  },
  'restart the database': () => postgres.restart(),
  /** A commit takes as long as on a disk that has other things to do. */
  async 'slow the disk of the database'() {
    await administer(
      'ALTER SYSTEM SET commit_delay = 100000',
      'ALTER SYSTEM SET commit_siblings = 0',
    );
    await sleep(between(2000, 9000));
    await administer('ALTER SYSTEM RESET commit_delay', 'ALTER SYSTEM RESET commit_siblings');
  },
  /** Servers lose theirs, and get none: the database has no more to give. */
  async 'take all connections'() {
    const taken: Client[] = [];
    const take = async (): Promise<void> => {
      for (;;) {
        const client = new Client({ connectionString: postgres.url });
        client.on('error', () => {});
        try {
          await client.connect();
        } catch {
          return;
        }
        taken.push(client);
      }
    };
    await take();
    proxy.cut();
    await take();
    proxy.heal();
    await sleep(between(500, 7000));
    await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
  },
  ...(CLOCKS === undefined
    ? {}
    : {
        /** Of one server, as far as two hours, and until it jumps again. */
        async 'let a clock jump'() {
          const index = Math.floor(random() * SERVERS);
          const secs = Math.round(between(-7200, 7200));
          setClock(shop.path(`clock-${index}`), secs);
          await sleep(1500);
        },
      }),
};

async function administer(...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  for (const statement of [...statements, 'SELECT pg_reload_conf()']) await client.query(statement);
  await client.end();
}

interface Submitted {
  readonly id: string;
  readonly table: string;
}

let tables = 0;
async function submitOne(): Promise<Submitted | undefined> {
  const table = `t${(tables += 1)}`;
  const kind = oneOf(['plain', 'plain', 'exact', 'shards'] as const, chosen);
  const database = await eventually(() => WatchedDatabase.again(postgres.url));
  try {
    const document = await {
      plain: () => database.document(table),
      exact: () => database.exact(table),
      shards: () => database.sharded(table, 4),
    }[kind]();
    // A submission whose answer was lost is sent again, and must not be there twice.
    const settings = { callback: { url: callbacks.url }, idempotency_key: table };
    const submit = (): Promise<string> =>
      Promise.race([
        oneOf(servers, chosen).submit(document, settings),
        // That server may be frozen; another one is asked.
        sleep(ANSWER_MS).then(() => Promise.reject(new Error('no answer'))),
      ]);
    const id = await eventually(submit, { timeout: 60_000, interval: 300 });
    note(`${kind} ${table}: ${id}`);
    return { id, table };
  } catch (error) {
    note(`${kind} ${table} was not submitted: ${String(error)}`);
    return undefined;
  } finally {
    await database.close().catch(() => undefined);
  }
}

async function statusesOf(database: WatchedDatabase): Promise<ReadonlyMap<string, string>> {
  const { rows } = await database.client.query<{ run_id: string; status: string }>(
    'SELECT run_id, status FROM svc_serve_runs',
  );
  return new Map(rows.map(({ run_id, status }) => [run_id, status]));
}

async function openRuns(): Promise<number> {
  const database = await WatchedDatabase.again(postgres.url);
  const statuses = [...(await statusesOf(database)).values()];
  await database.close();
  return statuses.filter((status) => !ENDED.includes(status)).length;
}

const endsAt = (): number => MINUTES * 60_000;

async function keepBusy(isOver: () => boolean): Promise<Submitted[]> {
  const submitted: Submitted[] = [];
  while (!isOver()) {
    const open = await openRuns().catch(() => MOST_RUNS);
    const one = open < MOST_RUNS ? await submitOne() : undefined;
    if (one !== undefined) submitted.push(one);
    await sleep(500);
  }
  return submitted;
}

test(
  `nothing is lost, repeated or ended twice (seed ${SEED}, ${MINUTES} minutes)`,
  { timeout: endsAt() + SETTLING_MS + 120_000 },
  async () => {
    const first = await WatchedDatabase.on(postgres.url);
    for (let index = 0; index < SERVERS; index += 1) await replace(index);
    await first.watchRuns();
    await first.close();
    const submitted = [await submitOne(), await submitOne()].filter((one) => one !== undefined);
    const over = new AbortController();
    setTimeout(() => over.abort(), endsAt());
    const isOver = (): boolean => over.signal.aborted;
    const submitting = keepBusy(isOver);
    while (!isOver()) {
      await sleep(between(500, 3000));
      const [name, happen] = oneOf(Object.entries(FAULTS));
      note(name);
      await happen();
    }
    submitted.push(...(await submitting));
    await eventually(async () => expect(await openRuns()).toBe(0), {
      timeout: SETTLING_MS,
      interval: 500,
    });
    const database = await WatchedDatabase.again(postgres.url);
    try {
      await expectAllIsWell(database, submitted);
    } catch (error) {
      process.stderr.write(`seed ${SEED}:\n${said.join('\n')}\n`);
      throw error;
    } finally {
      await database.close();
    }
  },
);

async function expectAllIsWell(
  database: WatchedDatabase,
  submitted: readonly Submitted[],
): Promise<void> {
  expect(submitted.length).toBeGreaterThan(0);
  await database.expectSoundRuns();
  const statuses = await statusesOf(database);
  const completed = submitted.filter(({ id }) => statuses.get(id) === 'completed');
  // A destination that crashes fails runs; not all of them.
  expect(completed.length).toBeGreaterThan(0);
  for (const { id, table } of submitted) {
    const status = statuses.get(id);
    const { rows } = await database.client.query<{ all: number; different: number }>(
      `SELECT count(*)::int AS all, count(DISTINCT id)::int AS different FROM ${table}`,
    );
    const [{ all, different } = { all: 0, different: 0 }] = rows;
    expect([table, all]).toEqual([table, different]);
    if (status === 'completed') expect([table, all]).toEqual([table, ROWS]);
    const events = callbacks.of(id);
    expect(events.length).toBeLessThanOrEqual(1);
    for (const event of events) expect(event).toBe(`run.${status}`);
  }
}
