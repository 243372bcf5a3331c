/** `/healthz` while requests try to keep the server from answering (`test/support/attacks.ts`). */
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ATTACKS,
  copyDocument,
  holdLock,
  post,
  type Attack,
  type Attacked,
} from '../../test/support/attacks.ts';
import type { Bench, Move } from '../move.ts';
import type { Figure } from '../result.ts';
import { load, startHeadgate, type Load } from '../service.ts';

const SECONDS = 4;
const P99_MS = 25;
/** Submissions that wait for the lock at the same time. */
const WAITING = 8;

/** Keeps an attack going until the signal fires. */
type Assault = (attacked: Attacked, over: AbortSignal) => Promise<void>;

export const attacked: Move = {
  kind: 'service',
  name: 'serve-attacked',
  title: 'GET /healthz while the server is attacked',
  how:
    'One connection asks every 5 ms from another process, 4 s a sample, while one attack after the other is sent again as soon as it was ' +
    'answered. Each attack has a server of its own, and the first one is not attacked. The locked history is held by another process, with submissions that wait for it.',
  async measure(bench) {
    const figures: Figure[] = [];
    const assaults: readonly (readonly [string, Assault])[] = [
      ['no attack', (_target, over) => once(over, 'abort').then(() => {})],
      ...ATTACKS.map((attack) => [attack.name, again(attack)] as const),
      ['a history that is locked', lockedHistory],
    ];
    for (const [name, assault] of assaults) {
      bench.say(`  ${name}`);
      figures.push(...(await figuresOf(name, assault, bench)));
    }
    return figures;
  },
};

async function figuresOf(name: string, assault: Assault, bench: Bench): Promise<readonly Figure[]> {
  const folder = join(bench.folder, 'attacked');
  await mkdir(folder, { recursive: true });
  const server = await startHeadgate(folder, '--max-queued-runs', '1000000');
  const samples: Load[] = [];
  try {
    for (let round = 0; round < bench.runs; round++)
      samples.push(await oneSample(server, assault, folder));
  } finally {
    await server.stop();
  }
  const p99: Figure = {
    name: `${name}, p99`,
    unit: 'ms',
    samples: samples.map(({ p99Ms }) => p99Ms),
    target: { bound: 'at most', value: P99_MS },
  };
  return [
    { name: `${name}, p50`, unit: 'ms', samples: samples.map(({ p50Ms }) => p50Ms) },
    p99,
    { name: `${name}, slowest`, unit: 'ms', samples: samples.map(({ maxMs }) => maxMs) },
  ];
}

type Server = Awaited<ReturnType<typeof startHeadgate>>;

async function oneSample(server: Server, assault: Assault, folder: string): Promise<Load> {
  const over = new AbortController();
  const target = { url: server.url, folder, dataFolder: server.dataFolder };
  const going = assault(target, over.signal);
  const asked = {
    url: `${server.url}/healthz`,
    seconds: SECONDS,
    connections: 1,
    everyMs: 5,
    expectedStatus: '200',
  };
  try {
    return await load(asked);
  } finally {
    over.abort();
    await going;
  }
}

function again({ name, begin, statuses }: Attack): Assault {
  return async (target, over) => {
    while (!over.aborted) {
      const { status } = await begin(target);
      if (!statuses.includes(status)) throw new Error(`${name} was answered with ${status}`);
    }
  };
}

async function lockedHistory(
  { url, folder, dataFolder = '' }: Attacked,
  over: AbortSignal,
): Promise<void> {
  const lock = await holdLock(join(dataFolder, 'history.db'));
  const source = { type: 'csv', config: { path: join(folder, 'missing.csv') } };
  const sink = { type: 'jsonl', config: { path: join(folder, 'locked.jsonl') } };
  const config = copyDocument(source, sink);
  while (!over.aborted)
    await Promise.all(Array.from({ length: WAITING }, () => post(url, '/v1/runs', { config })));
  await lock.release();
}
