/**
 * Moves of the control plane: submissions, small runs, and answers while runs take every processor.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PERSON_FIELDS, peopleFile, personAt, personLine } from '../data.ts';
import { program, type Bench, type Move } from '../move.ts';
import type { Figure } from '../result.ts';
import { SERIAL } from '../programs/serial.ts';
import {
  countRuns,
  load,
  startHeadgate,
  startService,
  statusOf,
  submit,
  untilIdle,
  type Load,
} from '../service.ts';
import { governedDocument } from './governed.ts';

const CONNECTIONS = 32;
const LOAD_SECONDS = 4;
const MANY = 10_000;
const SMALL_ROWS = 10;
const LATENCY_SAMPLES = 50;
const LATENCY_WARM_UP = 5;
const HEALTH_SECONDS = 5;
/** Runs that wait for the two that execute. */
const SUCCESSORS = 16;
const NO_LIMIT = '1000000';

const submissions = submissionMove({
  name: 'serve-submit',
  title: 'POST /v1/runs, 32 connections, 1.4 kB YAML document validated, durable',
  what: 'Every submission has the same text.',
  isDifferent: false,
});

const differentSubmissions = submissionMove({
  name: 'serve-submit-different',
  title: 'POST /v1/runs, 32 connections, as above, no two documents the same',
  what: 'Every submission has a name and an output of its own.',
  isDifferent: true,
});

interface SubmissionMove {
  readonly name: string;
  readonly title: string;
  readonly what: string;
  readonly isDifferent: boolean;
}

function submissionMove({ name, title, what, isDifferent }: SubmissionMove): Move {
  return {
    kind: 'service',
    name,
    title,
    how:
      `${what} Whole servers in alternation, each under load from another process. The only worker of Headgate waits in a query that sleeps, ` +
      'so that submissions are validated, stored and queued but no run competes with them; every one of them was answered with 202. ' +
      'The bare server is `node:http` that reads the body and answers.',
    measure: (bench) => measureSubmissions(bench, isDifferent),
  };
}

async function measureSubmissions(bench: Bench, isDifferent: boolean): Promise<readonly Figure[]> {
  const sleeping = await sleepingDocument(bench);
  const bodyFile = join(bench.folder, 'submission.json');
  await writeFile(
    bodyFile,
    JSON.stringify({
      config: submittedDocument(isDifferent ? SERIAL : SERIAL.replaceAll('#', '0')),
    }),
  );
  const rounds = { headgate: [] as Load[], bare: [] as Load[], again: [] as Load[] };
  await oneHeadgate(bench, { sleeping, bodyFile });
  for (let round = 0; round < bench.runs; round++) {
    bench.say(`  round ${round + 1} of ${bench.runs}`);
    rounds.headgate.push(await oneHeadgate(bench, { sleeping, bodyFile }));
    rounds.bare.push(await oneBare(bodyFile));
    rounds.again.push(await oneHeadgate(bench, { sleeping, bodyFile }));
  }
  const share = (one: readonly Load[], other: readonly Load[]): number[] =>
    one.map(({ perSecond }, index) => perSecond / (other[index]?.perSecond ?? Number.NaN));
  const samples = rounds.headgate;
  return [
    {
      name: 'headgate, submissions',
      unit: 'per second',
      samples: samples.map(({ perSecond }) => perSecond),
    },
    { name: 'headgate, p50', unit: 'ms', samples: samples.map(({ p50Ms }) => p50Ms) },
    {
      name: 'headgate, p99',
      unit: 'ms',
      samples: samples.map(({ p99Ms }) => p99Ms),
      target: { bound: 'at most', value: 25 },
    },
    {
      name: 'bare node:http, answers',
      unit: 'per second',
      samples: rounds.bare.map(({ perSecond }) => perSecond),
    },
    {
      name: 'headgate / bare',
      unit: '×',
      samples: share(samples, rounds.bare),
      target: { bound: 'at least', value: 0.2 },
    },
    { name: 'headgate / headgate again', unit: '×', samples: share(samples, rounds.again) },
  ];
}

const manyRuns: Move = {
  kind: 'service',
  name: 'serve-runs',
  title: '10,000 runs of a 10-row document through serve, end to end',
  how:
    'From the first submission, over 32 connections, until no run is queued or running; every run writes a file of its own, and every file is ' +
    'compared with what it must hold.',
  async measure(bench) {
    const samples: number[] = [];
    for (let round = 0; round < bench.runs; round++) {
      bench.say(`  round ${round + 1} of ${bench.runs}`);
      samples.push(await runMany(bench));
    }
    return [
      { name: 'runs', unit: 'per second', samples, target: { bound: 'at least', value: 300 } },
    ];
  },
};

const firstRow: Move = {
  kind: 'service',
  name: 'serve-first-row',
  title: 'Submit → first row read, idle server',
  how:
    'The source is a query of SQLite that gives the time at which it is read, to the millisecond; the run writes it to a file. The time is ' +
    'counted from before the submission is sent. One submission at a time, with pauses, after a few that are not counted.',
  async measure(bench) {
    const server = await startHeadgate(bench.folder);
    try {
      const samples: number[] = [];
      for (let index = -LATENCY_WARM_UP; index < LATENCY_SAMPLES; index++) {
        const latency = await timeToFirstRow(bench, server.url, index);
        if (index >= 0) samples.push(latency);
      }
      return [
        {
          name: 'submit → first row, p50',
          unit: 'ms',
          samples,
          target: { bound: 'at most', value: 20 },
        },
      ];
    } finally {
      await server.stop();
    }
  },
};

const health: Move = {
  kind: 'service',
  name: 'serve-healthz',
  title: 'GET /healthz while two runs saturate both cores',
  how:
    'One connection asks every 5 ms from another process, 5 s a sample, first on an idle server, then while two runs with transforms, ' +
    'masking and a contract are executing and more of them wait, which is checked before and after each sample.',
  async measure(bench) {
    const server = await startHeadgate(
      bench.folder,
      '--max-concurrent-runs',
      '2',
      '--max-queued-runs',
      NO_LIMIT,
    );
    const asked = {
      url: `${server.url}/healthz`,
      seconds: HEALTH_SECONDS,
      connections: 1,
      everyMs: 5,
      expectedStatus: '200',
    };
    try {
      const [idle, busy]: [Load[], Load[]] = [[], []];
      for (let round = 0; round < bench.runs; round++) idle.push(await load(asked));
      for (let round = 0; round < bench.runs; round++) {
        bench.say(`  round ${round + 1} of ${bench.runs}`);
        await keepTwoRunning(bench, server.url);
        busy.push(await load(asked));
        await stillSaturated(server.url);
      }
      return [
        { name: 'idle, p99', unit: 'ms', samples: idle.map(({ p99Ms }) => p99Ms) },
        { name: 'two runs, p50', unit: 'ms', samples: busy.map(({ p50Ms }) => p50Ms) },
        {
          name: 'two runs, p99',
          unit: 'ms',
          samples: busy.map(({ p99Ms }) => p99Ms),
          target: { bound: 'at most', value: 25 },
        },
        { name: 'two runs, slowest', unit: 'ms', samples: busy.map(({ maxMs }) => maxMs) },
      ] satisfies Figure[];
    } finally {
      await server.stop();
      await rm(busyFolder(bench), { recursive: true, force: true });
    }
  },
};

export const serviceMoves: readonly Move[] = [
  submissions,
  differentSubmissions,
  manyRuns,
  firstRow,
  health,
];

export interface LoadedRoute {
  readonly sleeping: string;
  readonly bodyFile: string;
  readonly path?: string;
  readonly options?: readonly string[];
  /** Called before the load, with the address of the server. */
  readonly prepare?: (url: string) => Promise<void>;
}

/** A server whose only worker sleeps, under load. */
export async function oneHeadgate(bench: Bench, route: LoadedRoute): Promise<Load> {
  const [only] = await loadsInTurn(bench, route, [route.bodyFile]);
  if (only === undefined) throw new Error('one load was asked for');
  return only;
}

/** The same server under one load after the other, the first of them while it has just started. */
export async function loadsInTurn(
  bench: Bench,
  { sleeping, path = '/v1/runs', options = [], prepare }: Omit<LoadedRoute, 'bodyFile'>,
  bodyFiles: readonly string[],
): Promise<readonly Load[]> {
  const server = await startHeadgate(
    bench.folder,
    '--max-concurrent-runs',
    '1',
    '--max-queued-runs',
    NO_LIMIT,
    ...options,
  );
  try {
    await prepare?.(server.url);
    const id = await submit(server.url, sleeping);
    while ((await statusOf(server.url, id)) === 'queued') await pause(20);
    const loads: Load[] = [];
    for (const bodyFile of bodyFiles)
      loads.push(
        await load({
          url: `${server.url}${path}`,
          seconds: LOAD_SECONDS,
          connections: CONNECTIONS,
          bodyFile,
          expectedStatus: '202',
        }),
      );
    if ((await statusOf(server.url, id)) !== 'running')
      throw new Error('the run that was to keep the worker waiting has ended');
    return loads;
  } finally {
    await server.stop();
  }
}

async function oneBare(bodyFile: string): Promise<Load> {
  const server = await startService(program('bare-http'));
  try {
    return await load({
      url: `${server.url}/v1/runs`,
      seconds: LOAD_SECONDS,
      connections: CONNECTIONS,
      bodyFile,
      expectedStatus: '202',
    });
  } finally {
    await server.stop();
  }
}

export async function runMany(bench: Bench, options: readonly string[] = []): Promise<number> {
  const folder = join(bench.folder, 'many');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const input = await smallInput(folder);
  const server = await startHeadgate(bench.folder, '--max-queued-runs', NO_LIMIT, ...options);
  try {
    const begun = performance.now();
    let next = 0;
    const submitAll = async (): Promise<void> => {
      while (next < MANY)
        await submit(server.url, smallDocument(input, join(folder, `${next++}.jsonl`)));
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, submitAll));
    await untilIdle(server.url, 25);
    const seconds = (performance.now() - begun) / 1000;
    await verifySmallRuns(server.url, folder, MANY);
    return MANY / seconds;
  } finally {
    await server.stop();
  }
}

/** Ten rows; returns the path of the file. */
export async function smallInput(folder: string): Promise<string> {
  const input = join(folder, 'in.csv');
  const people = Array.from({ length: SMALL_ROWS }, (_, index) => personAt(index));
  await writeFile(input, `${PERSON_FIELDS.join(',')}\n${people.map(personLine).join('')}`);
  return input;
}

/** Files named by their numbers. */
export async function verifySmallRuns(url: string, folder: string, count: number): Promise<void> {
  const failed = await countRuns(url, 'failed,cancelled');
  if (failed > 0) throw new Error(`${failed} of the runs did not complete`);
  const expected = Array.from({ length: SMALL_ROWS }, (_, index) => personAt(index))
    .map(({ id, name, email, amount, ts, active, payload }) =>
      JSON.stringify({
        id: String(id),
        name,
        email,
        amount: String(amount),
        ts,
        active: String(active),
        payload,
      }),
    )
    .join('\n');
  for (let index = 0; index < count; index++) {
    const path = join(folder, `${index}.jsonl`);
    if ((await readFile(path, 'utf8')).trim() !== expected)
      throw new Error(`${path} does not hold what it must`);
  }
}

export async function timeToFirstRow(bench: Bench, url: string, index: number): Promise<number> {
  const database = join(bench.folder, 'clock.db');
  if (index === -LATENCY_WARM_UP) new DatabaseSync(database).close();
  const output = join(bench.folder, 'clock.jsonl');
  await rm(output, { force: true });
  await pause(100);
  const sent = Date.now();
  const id = await submit(url, clockDocument(database, output));
  let status = 'queued';
  while (status === 'queued' || status === 'running') {
    await pause(10);
    status = await statusOf(url, id);
  }
  if (status !== 'completed') throw new Error(`the run ended as ${status}`);
  const { read_at: readAt } = JSON.parse(await readFile(output, 'utf8')) as { read_at: number };
  return readAt * 1000 - sent;
}

/**
 * Runs that take seconds each, more than can execute at once: when one ends, the next one follows.
 */
async function keepTwoRunning(bench: Bench, url: string): Promise<void> {
  const input = peopleFile(bench.folder, bench.rows);
  for (let waiting = await countRuns(url, 'queued'); waiting < SUCCESSORS; waiting++)
    await submit(url, governedDocument(input, join(busyFolder(bench), `${randomUUID()}.jsonl`)));
  while ((await countRuns(url, 'running')) < 2) await pause(20);
}

async function stillSaturated(url: string): Promise<void> {
  if ((await countRuns(url, 'queued')) === 0)
    throw new Error('the runs ended while the answers were timed; use more --rows');
  if ((await countRuns(url, 'failed,cancelled')) > 0)
    throw new Error('a run that was to keep a processor busy failed');
}

function busyFolder({ folder }: Bench): string {
  return join(folder, 'busy');
}

export async function sleepingDocument(bench: Bench): Promise<string> {
  const { url } = await bench.database();
  return `version: 1
name: sleeping
pipeline:
  source: { type: postgres, config: { connection_url: '${url}', query: 'SELECT pg_sleep(600)', read_timeout_secs: 0 } }
  sink: { type: jsonl, config: { path: ${join(bench.folder, 'sleeping.jsonl')} } }
`;
}

export function smallDocument(input: string, output: string): string {
  return `version: 1
name: small
pipeline:
  source: { type: csv, config: { path: ${input} } }
  sink: { type: jsonl, config: { path: ${output} } }
`;
}

function clockDocument(database: string, output: string): string {
  return `version: 1
name: clock
pipeline:
  source: { type: sqlite, config: { database_url: 'sqlite:${database}', query: "SELECT unixepoch('now', 'subsec') AS read_at" } }
  sink: { type: jsonl, config: { path: ${output} } }
`;
}

/** About 1.4 kB, as documents in production are. */
export function submittedDocument(serial: string): string {
  return `version: 1
name: orders-${serial}
# Orders of the shop, cleaned and checked, as JSON Lines for the people who count.
pipeline:
  source: { type: csv, config: { path: in/orders.csv, delimiter: ';', null_values: ['', 'NULL'] } }
  transforms:
    - { type: rename_field, config: { fields: { ordernr: order_id, kd: customer, betrag: amount } } }
    - { type: cast, config: { fields: { order_id: int, amount: float, placed_at: timestamp } } }
    - { type: filter, config: { path: status, op: in, value: [paid, shipped, returned] } }
    - { type: drop, config: { fields: [comment, browser, session] } }
  masking:
    key: not-a-real-key
    rules:
      - { name: mail, match: { value_detector: email }, action: { type: hash } }
      - { name: people, match: { fields: [customer] }, action: { type: partial, keep_last: 2 } }
  contract:
    version: '1.0.0'
    owner: orders-team
    on_breach: quarantine
    fields:
      - { name: order_id, type: integer, min: 1 }
      - { name: customer, type: string, min_length: 1 }
      - { name: amount, type: number, min: 0 }
  quality:
    record:
      - { type: not_empty, field: country, on_failure: quarantine }
  dlq:
    sink: { type: jsonl, config: { path: out/bad-orders.jsonl } }
  sink: { type: jsonl, config: { path: 'out/orders-${serial}.jsonl' } }
`;
}
