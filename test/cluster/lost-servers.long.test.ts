/** Servers that are killed, frozen and cut off while they execute runs, and what becomes of those. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { tcpProxy, type TcpProxy } from '../fakes/tcp-proxy.ts';
import { childrenOf, workshop, type Program } from '../e2e/serve-program.ts';
import { CLOCKS, clockVariables, setClock } from './clocks.ts';
import { receiver, type Receiver } from './receiver.ts';
import { whoIs, type Executed } from './servers.ts';
import { ROWS, WatchedDatabase } from './watched-database.ts';
import { eventually } from '../support/eventually.ts';

const database = await WatchedDatabase.open();
const shop = workshop();
let proxy: TcpProxy;
let callbacks: Receiver;
let running: Program[] = [];

beforeAll(async () => {
  const { hostname, port } = new URL(database.url);
  proxy = await tcpProxy({ host: hostname, port: Number(port) });
  callbacks = await receiver();
  const [first] = await start(1);
  await database.watchRuns();
  await first?.stop();
  running = [];
});
afterEach(async () => {
  proxy.heal();
  for (const program of running.splice(0)) killAll(program);
});
afterAll(async () => {
  await shop.dispose();
  callbacks.close();
  await proxy.close();
  await database.close();
});

async function start(
  count: number,
  args: readonly string[] = [],
  history = database.url,
  variables: Readonly<Record<string, string>> = {},
): Promise<Program[]> {
  const settings = [
    '--cluster',
    '--max-concurrent-runs',
    '2',
    '--callback-allow-host',
    '127.0.0.1',
  ];
  const started = await Promise.all(
    Array.from({ length: count }, () =>
      shop.start({ args: ['--history', history, ...settings, ...args], variables }),
    ),
  );
  running.push(...started);
  return started;
}

/** The server, whatever started it, and its workers. */
const processesOf = ({ process: { pid = 0 } }: Program): number[] => [pid, ...childrenOf(pid)];
function signalAll(program: Program, signal: NodeJS.Signals): void {
  for (const pid of processesOf(program))
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
}
const killAll = (program: Program): void => signalAll(program, 'SIGKILL');

/** Submits a run, and waits until it has moved some rows; gives who executes it, and who does not. */
async function begin(
  name: string,
  servers: readonly Program[],
): Promise<{ id: string } & Executed> {
  const document = await database.document(name);
  const [first] = servers;
  if (first === undefined) throw new Error('no server');
  const id = await first.submit(document, { callback: { url: callbacks.url } });
  await eventually(async () => expect(await database.count(name)).toBeGreaterThan(200));
  const owner = (await database.seen(id)).at(-1)?.owner;
  const { holder, others } = await whoIs(servers, owner ?? '');
  return { id, holder, others };
}

async function expectSound(id: string, table: string): Promise<void> {
  await database.expectMoved(table);
  await database.expectSoundRuns();
  await eventually(() => expect(callbacks.of(id)).toEqual(['run.completed']));
}

test(
  'a run goes on elsewhere within five seconds when its server is killed',
  { timeout: 300_000 },
  async () => {
    const { id, holder, others } = await begin('killed', await start(2));
    const before = await database.count('killed');
    const killedAt = Date.now();
    killAll(holder);
    const [other] = others;
    const record = await eventually(async () => {
      const found = await other?.get(id);
      expect(found?.status).toBe('completed');
      return found;
    });
    expect(record).toMatchObject({ attempt: 1 });
    // It went on after its bookmark.
    expect(record?.records_written).toBeLessThan(ROWS - before + 200);
    const again = (await database.seen(id)).find(
      ({ attempt, status }) => attempt === 1 && status === 'running',
    );
    expect((again?.at ?? 0) - killedAt).toBeLessThan(5000);
    await expectSound(id, 'killed');
    const log = await other?.call('GET', `/v1/runs/${id}/logs?format=text`);
    expect(log?.text.match(/pipeline run starting/g)).toHaveLength(2);
  },
);

test(
  'a server of another machine is waited for no longer than its lease',
  { timeout: 300_000 },
  async () => {
    const { id, holder, others } = await begin('silent', await start(2));
    // Its process is there: only the lease says that it is lost.
    const stoppedAt = Date.now();
    signalAll(holder, 'SIGSTOP');
    const [other] = others;
    await eventually(async () => expect((await other?.get(id))?.status).toBe('completed'));
    const again = (await database.seen(id)).find(({ attempt }) => attempt === 1);
    expect((again?.at ?? 0) - stoppedAt).toBeLessThan(15_000);
    // It wakes up when all is done, and can change nothing.
    signalAll(holder, 'SIGCONT');
    await eventually(() => expect(holder.output()).toMatch(/lost touch|another server/));
    await sleep(1000);
    expect(await holder.get(id)).toMatchObject({ status: 'completed', attempt: 1 });
    await expectSound(id, 'silent');
  },
);

test(
  'a server that was frozen wakes up in the middle, and changes nothing of the run',
  { timeout: 300_000 },
  async () => {
    for (const [n, who] of ['all', 'server'].entries()) {
      const table = `frozen_${n}`;
      const { id, holder, others } = await begin(table, await start(2));
      const [server = 0] = processesOf(holder);
      if (who === 'all') signalAll(holder, 'SIGSTOP');
      // Its worker goes on.
      else process.kill(server, 'SIGSTOP');
      await eventually(async () =>
        expect((await database.seen(id)).at(-1)).toMatchObject({ attempt: 1, status: 'running' }),
      );
      await sleep(500);
      signalAll(holder, 'SIGCONT');
      const [other] = others;
      await eventually(async () => expect((await other?.get(id))?.status).toBe('completed'));
      await sleep(500);
      await expectSound(id, table);
      for (const program of running.splice(0)) killAll(program);
    }
  },
);

test(
  'a database that is away for a moment is waited for, and one that is away for longer ends no run',
  { timeout: 360_000 },
  async () => {
    const through = new URL(database.url);
    through.port = String(proxy.port);
    const servers = await start(2, [], through.href);
    for (const [n, awayMs] of [1000, 8000].entries()) {
      const table = `away_${n}`;
      const { id, others } = await begin(table, servers);
      proxy.cut();
      await sleep(awayMs);
      proxy.heal();
      const [other] = others;
      await eventually(async () => expect((await other?.get(id))?.status).toBe('completed'));
      if (awayMs < 2000) expect(await other?.get(id)).toMatchObject({ attempt: 0 });
      await expectSound(id, table);
    }
  },
);

test(
  'a commit whose answer is lost without an end of the connection takes no run from its server',
  { timeout: 300_000 },
  async () => {
    const through = new URL(database.url);
    through.port = String(proxy.port);
    const brief = ['--lease-ttl-secs', '4'];
    const { id, holder } = await begin('swallowed', await start(1, brief, through.href));
    proxy.silenceAfter('COMMIT');
    const [other] = await start(1, brief);
    await eventually(async () => expect((await other?.get(id))?.status).toBe('completed'));
    expect(holder.output()).not.toMatch(/lost touch/);
    expect(await other?.get(id)).toMatchObject({ attempt: 0, records_written: ROWS });
    await expectSound(id, 'swallowed');
  },
);

test.skipIf(CLOCKS === undefined)(
  `clocks that jump end no lease, and take no run from anybody ${CLOCKS === undefined ? '(libfaketime is not installed)' : ''}`,
  { timeout: 300_000 },
  async () => {
    const files = [shop.path('clock-0'), shop.path('clock-1')];
    const servers: Program[] = [];
    for (const file of files)
      servers.push(...(await start(1, [], database.url, clockVariables(file))));
    const { id, holder, others } = await begin('jumping', servers);
    const [own = '', other = ''] = holder === servers[0] ? files : files.toReversed();
    // Hours, where a lease is seconds.
    for (const [file, secs] of [
      [own, 7200],
      [other, -7200],
      [own, -3600],
      [other, 3600],
    ] as const) {
      setClock(file, secs);
      await sleep(1500);
    }
    const [observer] = others;
    // It did jump.
    const later = await observer?.submit(await database.document('later'));
    const submittedAt = (await observer?.get(later ?? ''))?.submitted_at ?? '';
    expect(Date.parse(submittedAt) - Date.now()).toBeGreaterThan(3_000_000);
    for (const run of [id, later ?? ''])
      await eventually(async () => expect((await observer?.get(run))?.status).toBe('completed'));
    expect(await observer?.get(id)).toMatchObject({ attempt: 0 });
    const owners = new Set((await database.seen(id)).map(({ owner }) => owner).filter(Boolean));
    expect(owners.size).toBe(1);
    expect(`${holder.output()}${observer?.output()}`).not.toMatch(/lost touch|took it over/);
    await expectSound(id, 'jumping');
  },
);

test(
  'a run whose servers are lost again and again fails, and nobody is called back',
  { timeout: 300_000 },
  async () => {
    const servers = await start(3, ['--cluster-max-attempts', '1']);
    const { id, holder, others } = await begin('poison', servers);
    killAll(holder);
    await eventually(async () =>
      expect((await database.seen(id)).at(-1)).toMatchObject({ attempt: 1, status: 'running' }),
    );
    const owner = (await database.seen(id)).at(-1)?.owner;
    killAll((await whoIs(others, owner ?? '')).holder);
    await eventually(async () => expect((await database.seen(id)).at(-1)?.status).toBe('failed'));
    const alive = others.find(
      ({ process: { exitCode, signalCode } }) => (exitCode ?? signalCode) === null,
    );
    const record = await alive?.get(id);
    expect(record).toMatchObject({ status: 'failed', attempt: 1 });
    expect(record?.error).toContain('reclaimed 1 times and is given up');
    await sleep(1000);
    expect(callbacks.of(id)).toEqual([]);
    await database.expectSoundRuns();
  },
);

test(
  'a run that was handed over says what both servers wrote, and each part can be undone',
  { timeout: 300_000 },
  async () => {
    const servers = await start(2, ['--shutdown-handover']);
    const config = JSON.stringify({ ...(await database.document('parts')), rollback: {} });
    const [first] = servers;
    const id = (await first?.submit(config)) ?? '';
    await eventually(async () => expect(await database.count('parts')).toBeGreaterThan(200));
    const owner = (await database.seen(id)).at(-1)?.owner;
    const { holder, others } = await whoIs(servers, owner ?? '');
    expect(await holder.stop()).toBe(0);
    const [other] = others;
    await eventually(async () => expect((await other?.get(id))?.status).toBe('completed'));
    const { records_written, invocations = [] } = (await other?.get(id)) ?? {};
    expect(records_written).toBe(ROWS);
    expect(invocations.map(({ status }) => status)).toEqual(['cancelled', 'completed']);
    const undo = async (more: object): Promise<number | undefined> => {
      const body = { config, config_format: 'json', ...more };
      return (await other?.call('POST', `/v1/runs/${id}/rollback`, body))?.status;
    };
    expect(await undo({})).toBe(400);
    for (const { run_id } of invocations.toReversed())
      expect(await undo({ invocation_id: run_id })).toBe(200);
    expect(await database.count('parts')).toBe(0);
  },
);

test(
  'servers are replaced one after the other under load, and no run fails, is lost or repeated',
  { timeout: 450_000 },
  async () => {
    let servers = await start(3, ['--shutdown-handover']);
    const { id: long } = await begin('rolling', servers);
    const ids: string[] = [];
    const over = new AbortController();
    const submitting = (async () => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        const [, last = servers[0]] = servers;
        const config = {
          version: 1,
          name: `load-${n % 5}`,
          pipeline: {
            source: {
              type: 'postgres',
              config: { connection_url: database.url, query: 'SELECT 1 AS id' },
            },
            sink: { type: 'jsonl', config: { path: shop.path(`load-${n}.jsonl`) } },
          },
        };
        const answer = await last
          ?.call('POST', '/v1/runs', { config: JSON.stringify(config) })
          .catch(() => undefined);
        if (answer?.status === 202) ids.push((answer.json() as { run_id: string }).run_id);
        await sleep(40);
      }
    })();
    for (let n = 0; n < 3; n += 1) {
      const [old, ...rest] = servers;
      const [fresh] = await start(1, ['--shutdown-handover']);
      servers = fresh === undefined ? rest : [...rest, fresh];
      expect(await old?.stop()).toBe(0);
      await sleep(500);
    }
    await eventually(() => expect(ids.length).toBeGreaterThan(50));
    over.abort();
    await submitting;
    const [any] = servers;
    for (const id of [long, ...ids])
      await eventually(async () =>
        expect(await any?.get(id)).toMatchObject({ status: 'completed', attempt: 0 }),
      );
    const { records_written, invocations } = (await any?.get(long)) ?? {};
    expect(records_written).toBe(ROWS);
    expect(invocations?.map(({ status }) => status)).toEqual([
      ...(invocations ?? []).slice(1).map(() => 'cancelled'),
      'completed',
    ]);
    await expectSound(long, 'rolling');
  },
);
