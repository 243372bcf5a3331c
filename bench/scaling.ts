/**
 * What a cluster costs its database, counted and not timed: statements, commits and write-ahead log
 * of a run, and of a server that only lives. Then a simulation of more servers than fit here, which
 * says what gives out first. `node bench/scaling.ts`; docs/scaling.md has the result.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { startPostgres } from '../test/servers/postgres.ts';
import { startHeadgate, type Service } from './service.ts';
import { simulate, type Costs } from './scaling-simulation.ts';

const RUNS = 200;
const IDLE_SECS = 10;
const SERVERS = 3;

interface Counts {
  readonly statements: number;
  readonly commits: number;
  readonly walBytes: number;
}

const COUNTS = `SELECT (SELECT sum(calls) FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%')::float8 AS statements,
  (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS commits,
  pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal`;

async function countsOf(client: Client): Promise<Counts> {
  // What others counted is shown when they have been idle for a moment.
  await pause(1500);
  const { rows } = await client.query<{ statements: number; commits: number; wal: number }>(COUNTS);
  const [{ statements, commits, wal } = { statements: 0, commits: 0, wal: 0 }] = rows;
  return { statements, commits, walBytes: wal };
}

const minus = (later: Counts, earlier: Counts): Counts => ({
  statements: later.statements - earlier.statements,
  commits: later.commits - earlier.commits,
  walBytes: later.walBytes - earlier.walBytes,
});
const per = ({ statements, commits, walBytes }: Counts, n: number): Counts => ({
  statements: statements / n,
  commits: commits / n,
  walBytes: walBytes / n,
});

async function submitAll(services: readonly Service[], folder: string): Promise<void> {
  await writeFile(join(folder, 'in.csv'), `id,name\n${'1,one\n'.repeat(10)}`);
  const ids: string[] = [];
  for (let n = 0; n < RUNS; n += 1) {
    const document = {
      version: 1,
      name: `load-${n % 5}`,
      pipeline: {
        source: { type: 'csv', config: { path: join(folder, 'in.csv') } },
        sink: { type: 'jsonl', config: { path: join(folder, `out-${n}.jsonl`) } },
      },
    };
    const url = services[n % services.length]?.url ?? '';
    const body = JSON.stringify({ config: JSON.stringify(document), config_format: 'json' });
    const answer = await fetch(`${url}/v1/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    ids.push(((await answer.json()) as { run_id: string }).run_id);
  }
  for (const id of ids)
    for (;;) {
      const answer = await fetch(`${services[0]?.url ?? ''}/v1/runs/${id}`);
      const { status } = (await answer.json()) as { status: string };
      if (!['queued', 'running'].includes(status)) break;
      await pause(100);
    }
}

const folder = await mkdtemp(join(tmpdir(), 'headgate-scaling-'));
const postgres = await startPostgres({ countsStatements: true });
const client = new Client({ connectionString: postgres.url });
await client.connect();
await client.query('CREATE EXTENSION pg_stat_statements');
const services: Service[] = [];
try {
  for (let n = 0; n < SERVERS; n += 1)
    services.push(await startHeadgate(folder, '--history', postgres.url, '--cluster'));
  const start = await countsOf(client);
  await pause(IDLE_SECS * 1000);
  const idleEnd = await countsOf(client);
  // Reading the counts takes time as well.
  const idle = per(minus(idleEnd, start), SERVERS * (IDLE_SECS + 1.5));
  const from = performance.now();
  await submitAll(services, folder);
  const busyEnd = await countsOf(client);
  const secs = (performance.now() - from) / 1000;
  const whole = minus(busyEnd, idleEnd);
  const run = per(
    {
      statements: whole.statements - idle.statements * SERVERS * secs,
      commits: whole.commits - idle.commits * SERVERS * secs,
      walBytes: whole.walBytes - idle.walBytes * SERVERS * secs,
    },
    RUNS,
  );
  const { rows } = await client.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'headgate'`,
  );
  const { rows: size } = await client.query<{ bytes: number }>(
    `SELECT sum(pg_total_relation_size(oid))::float8 AS bytes FROM pg_class WHERE relname LIKE 'svc_%' AND relkind = 'r'`,
  );
  const costs: Costs = {
    idle,
    run,
    connections: (rows[0]?.n ?? 0) / SERVERS,
    storedBytes: (size[0]?.bytes ?? 0) / RUNS,
  };
  const round = (value: number): number => Math.round(value * 10) / 10;
  process.stdout.write(
    `${JSON.stringify(costs, (_, value: unknown) => (typeof value === 'number' ? round(value) : value), 2)}\n`,
  );
  process.stdout.write(simulate(costs));
} finally {
  for (const service of services) await service.stop();
  await client.end();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
