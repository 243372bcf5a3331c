/** Moves of several servers on one PostgreSQL: small runs, hand-over, and what a kill costs. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ask, program, type Bench, type Move } from '../move.ts';
import { countRuns, startHeadgate, statusOf, submit, untilIdle, type Service } from '../service.ts';
import type { Figure } from '../result.ts';
import { quantile } from '../statistics.ts';
import { freshDatabase } from './fresh-database.ts';
import { smallDocument, timeToFirstRow } from './service.ts';

const SERVERS = 3;
const CONNECTIONS = 32;
const RUNS = 2000;
const WARM_UP_RUNS = 300;
const FIRST_ROWS = 50;
const FIRST_ROWS_NOT_COUNTED = 5;
const KILLS = 10;
const RESTART_RUNS_PER_SECOND = 50;
const NO_LIMIT = '1000000';
const DBOS = '@dbos-inc/dbos-sdk@5.3.0';

const smallRuns: Move = {
  kind: 'service',
  name: 'cluster-runs',
  title: `${RUNS} runs of a 10-row document through three servers, against empty workflows of DBOS`,
  how:
    'Three servers share one PostgreSQL on the same machine, which has the durability of a real server; each executes as many runs at once as it does ' +
    `by default. Then one process of DBOS Transact (${DBOS}, fetched for this), whose workflows do nothing at all: it says what a durable ` +
    'queue costs by itself. Both from the first submission, over 32 connections, to the end of the last, after some that are not counted.',
  async measure(bench) {
    const folder = await installed(bench);
    const rounds = { headgate: [] as number[], dbos: [] as number[] };
    for (let round = 0; round < bench.runs; round++) {
      bench.say(`  round ${round + 1} of ${bench.runs}`);
      rounds.headgate.push(await manyRuns(bench));
      const url = await freshDatabase(bench);
      const answer = await ask(program('dbos-empty', folder, url, String(RUNS)));
      rounds.dbos.push((answer as { perSecond: number }).perSecond);
    }
    return [
      { name: 'headgate, three servers, runs', unit: 'per second', samples: rounds.headgate },
      { name: 'DBOS, empty workflows', unit: 'per second', samples: rounds.dbos },
      {
        name: 'headgate / DBOS',
        unit: '×',
        samples: rounds.headgate.map((one, index) => one / (rounds.dbos[index] ?? Number.NaN)),
        target: { bound: 'at least', value: 0.6 },
      },
    ];
  },
};

const firstRowElsewhere: Move = {
  kind: 'service',
  name: 'cluster-first-row',
  title: 'Submit to one server → first row read by another',
  how: 'As `serve-first-row`, with two servers on one PostgreSQL. The one that is asked executes a run that does not end, and may execute no other.',
  async measure(bench) {
    const silent = await silentServer();
    const [asked, other] = await serversOf(bench, await freshDatabase(bench), [
      ['--max-concurrent-runs', '1'],
      [],
    ]);
    if (asked === undefined || other === undefined) throw new Error('two servers were started');
    try {
      await untilFull(asked, () => endlessDocument(bench, silent.url));
      const samples: number[] = [];
      for (let index = -FIRST_ROWS_NOT_COUNTED; index < FIRST_ROWS; index++) {
        const latency = await timeToFirstRow(bench, asked.url, index);
        if (index >= 0) samples.push(latency);
      }
      return [
        {
          name: 'submit → first row elsewhere, p50',
          unit: 'ms',
          samples,
          target: { bound: 'at most', value: 60 },
        },
      ];
    } finally {
      silent.stop();
      await Promise.all([asked.stop(), other.stop()]);
    }
  },
};

const takeover: Move = {
  kind: 'service',
  name: 'cluster-takeover',
  title: 'kill -9 of a server → its run goes on elsewhere',
  how:
    'Two servers with the default settings on one PostgreSQL. A run that does not end is executed by one of them, which is killed; the time is counted ' +
    `until the other has begun it again. ${KILLS} times, each with new servers, so that the kill falls anywhere between two heartbeats.`,
  async measure(bench) {
    const samples: number[] = [];
    const silent = await silentServer();
    try {
      for (let kill = 0; kill < KILLS; kill++)
        samples.push(await timeToTakeover(bench, silent.url));
    } finally {
      silent.stop();
    }
    samples.sort((a, b) => a - b);
    return [
      { name: 'kill → goes on elsewhere', unit: 'ms', samples },
      {
        name: 'kill → goes on elsewhere, p99',
        unit: 'ms',
        samples: [quantile(samples, 0.99)],
        target: { bound: 'at most', value: 5000 },
      },
    ];
  },
};

const rollingRestart: Move = {
  kind: 'service',
  name: 'cluster-rolling-restart',
  title: `Rolling restart of three servers under ${RESTART_RUNS_PER_SECOND} runs a second`,
  how:
    'Each server is ended with SIGTERM and started again, one after the other, while runs of a 10-row document are submitted with idempotency keys to ' +
    'whichever server answers. Every accepted run must have completed, once, and its output must hold its ten records.',
  measure: restartUnderLoad,
};

export const clusterMoves: readonly Move[] = [
  smallRuns,
  firstRowElsewhere,
  takeover,
  rollingRestart,
];

const run = promisify(execFile);

/** The folder in which the package of DBOS is. */
async function installed(bench: Bench): Promise<string> {
  const folder = join(bench.folder, 'dbos');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  bench.say(`  fetching ${DBOS}`);
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', DBOS], {
    cwd: folder,
  });
  return folder;
}

/** One after the other, on a database of their own. */
async function serversOf(
  bench: Bench,
  url: string,
  options: readonly (readonly string[])[],
): Promise<readonly Service[]> {
  const servers: Service[] = [];
  for (const more of options)
    servers.push(await startHeadgate(bench.folder, '--history', url, '--cluster', ...more));
  return servers;
}

async function manyRuns(bench: Bench): Promise<number> {
  const options = Array.from({ length: SERVERS }, () => ['--max-queued-runs', NO_LIMIT]);
  const servers = await serversOf(bench, await freshDatabase(bench), options);
  try {
    await submitMany(bench, servers, WARM_UP_RUNS);
    const begun = performance.now();
    await submitMany(bench, servers, RUNS);
    return (RUNS / (performance.now() - begun)) * 1000;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function submitMany(bench: Bench, servers: readonly Service[], runs: number): Promise<void> {
  const { input, outputs } = await smallFiles(bench);
  let next = 0;
  const submitAll = async (): Promise<void> => {
    while (next < runs) {
      const index = next++;
      const output = join(outputs, `${index}.jsonl`);
      await submit(servers[index % servers.length]?.url ?? '', smallDocument(input, output));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, submitAll));
  await untilIdle(servers[0]?.url ?? '', 25);
  await expectOutputs(outputs, runs);
  if ((await countRuns(servers[0]?.url ?? '', 'failed,cancelled')) > 0)
    throw new Error('some of the runs did not complete');
}

const SMALL_RECORDS = Array.from({ length: 10 }, (_, index) => ({ id: `${index}`, name: 'a' }));

async function smallFiles(bench: Bench): Promise<{ input: string; outputs: string }> {
  const outputs = join(bench.folder, 'cluster-outputs');
  await rm(outputs, { recursive: true, force: true });
  await mkdir(outputs);
  const input = join(bench.folder, 'cluster-in.csv');
  const lines = SMALL_RECORDS.map(({ id, name }) => `${id},${name}\n`);
  await writeFile(input, `id,name\n${lines.join('')}`);
  return { input, outputs };
}

async function expectOutputs(folder: string, count: number): Promise<void> {
  const expected = SMALL_RECORDS.map((record) => `${JSON.stringify(record)}\n`).join('');
  for (let index = 0; index < count; index++) {
    const path = join(folder, `${index}.jsonl`);
    if ((await readFile(path, 'utf8')) !== expected)
      throw new Error(`${path} does not hold what it must`);
  }
}

/** Takes requests and never answers. */
async function silentServer(): Promise<{ readonly url: string; stop(): void }> {
  const server = createServer(() => {});
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

let endless = 0;
function endlessDocument(bench: Bench, url: string): string {
  return `version: 1
name: endless
pipeline:
  source: { type: rest, config: { base_url: '${url}', path: /records, timeout: 600 } }
  sink: { type: jsonl, config: { path: ${join(bench.folder, `endless-${endless++}.jsonl`)} } }
`;
}

/** Submits runs that do not end until the server executes one of them itself. */
async function untilFull(server: Service, document: () => string): Promise<void> {
  for (;;) {
    await submit(server.url, document());
    await pause(1500);
    const answer = await fetch(`${server.url}/v1/cluster`);
    const { members } = (await answer.json()) as {
      members: readonly { is_self: boolean; in_flight: number }[];
    };
    if (members.some((member) => member.is_self && member.in_flight > 0)) return;
  }
}

async function timeToTakeover(bench: Bench, silentUrl: string): Promise<number> {
  const url = await freshDatabase(bench);
  const [doomed, other] = await serversOf(bench, url, [[], ['--max-concurrent-runs', '4']]);
  if (doomed === undefined || other === undefined) throw new Error('two servers were started');
  try {
    await untilFull(doomed, () => endlessDocument(bench, silentUrl));
    const before = await attemptsOf(other.url);
    // Anywhere between two heartbeats.
    await pause(Math.random() * 2000);
    const killed = performance.now();
    process.kill(doomed.pid, 'SIGKILL');
    while ((await attemptsOf(other.url)) === before) await pause(10);
    return performance.now() - killed;
  } finally {
    await Promise.all([doomed.stop(), other.stop()]);
  }
}

/** Of all runs that are executed at this moment. */
async function attemptsOf(url: string): Promise<number> {
  const answer = await fetch(`${url}/v1/runs?status=running&limit=100`);
  const { runs } = (await answer.json()) as { runs: readonly { attempt: number }[] };
  return runs.reduce((sum, { attempt }) => sum + attempt, 0);
}

async function restartUnderLoad(bench: Bench): Promise<readonly Figure[]> {
  const url = await freshDatabase(bench);
  const options = Array.from({ length: SERVERS }, () => []);
  const servers = [...(await serversOf(bench, url, options))];
  const { input, outputs } = await smallFiles(bench);
  const accepted = new Map<number, string>();
  try {
    const begun = performance.now();
    const over = new AbortController();
    const restarts = (async () => {
      for (let index = 0; index < SERVERS; index++) {
        await pause(2000);
        await servers[index]?.stop();
        servers.splice(index, 1, ...(await serversOf(bench, url, [[]])));
      }
      await pause(2000);
      over.abort();
    })();
    const submissions: Promise<void>[] = [];
    for (let index = 0; !over.signal.aborted; index++) {
      const due = begun + (index * 1000) / RESTART_RUNS_PER_SECOND;
      await pause(Math.max(0, due - performance.now()));
      const document = smallDocument(input, join(outputs, `${index}.jsonl`));
      submissions.push(
        submitToAny(servers, document, `restart-${index}`).then((id) => {
          accepted.set(index, id);
        }),
      );
    }
    const seconds = (performance.now() - begun) / 1000;
    await restarts;
    await Promise.all(submissions);
    const first = servers[0]?.url ?? '';
    await untilIdle(first, 50);
    const statuses = await Promise.all([...accepted.values()].map((id) => statusOf(first, id)));
    await expectOutputs(outputs, accepted.size);
    const zero = { bound: 'at most', value: 0 } as const;
    const lost = statuses.filter((status) => status !== 'completed' && status !== 'failed').length;
    const all = await countAll(first);
    return [
      { name: 'runs accepted', unit: 'per second', samples: [accepted.size / seconds] },
      {
        name: 'failed',
        unit: 'runs',
        samples: [statuses.filter((status) => status === 'failed').length],
        target: zero,
      },
      { name: 'lost', unit: 'runs', samples: [lost], target: zero },
      { name: 'twice', unit: 'runs', samples: [all - accepted.size], target: zero },
    ];
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** A server that is ending or starting gives no answer, or 503: then another is asked. */
async function submitToAny(
  servers: readonly Service[],
  config: string,
  key: string,
): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const server = servers[attempt % servers.length];
    const answer = await fetch(`${server?.url ?? ''}/v1/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ config }),
    }).catch(() => undefined);
    if (answer?.ok === true) return ((await answer.json()) as { run_id: string }).run_id;
    if (answer !== undefined && ![429, 503].includes(answer.status))
      throw new Error(`a submission was answered with ${answer.status}: ${await answer.text()}`);
    await pause(50);
  }
}

/** All runs of the history, over its pages. */
async function countAll(url: string): Promise<number> {
  let [count, cursor] = [0, ''];
  do {
    const answer = await fetch(`${url}/v1/runs?limit=500${cursor}`);
    const page = (await answer.json()) as { runs: readonly unknown[]; next_cursor?: string | null };
    count += page.runs.length;
    cursor = typeof page.next_cursor === 'string' ? `&cursor=${page.next_cursor}` : '';
  } while (cursor !== '');
  return count;
}
