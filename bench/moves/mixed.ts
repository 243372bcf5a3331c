/** Submissions and small runs at the same time. */
import { mkdir, rm } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import type { Bench, Move } from '../move.ts';
import { cpuMsOfTree } from '../process.ts';
import type { Figure } from '../result.ts';
import { startHeadgate, untilIdle } from '../service.ts';
import { quantile } from '../statistics.ts';
import { smallDocument, smallInput, verifySmallRuns } from './service.ts';

const RUNS = 2000;
const CONNECTIONS = 16;
const AT_ONCE = '4';

interface Mixed {
  readonly submissionsPerSecond: number;
  readonly runsPerSecond: number;
  readonly p99Ms: number;
  readonly cpuMsPerRun: number;
}

export const mixedLoad: Move = {
  kind: 'service',
  name: 'serve-mixed',
  title: '2,000 submissions over 16 connections while four runs execute at a time',
  how:
    'Runs of ten rows, no two documents the same, each with a file of its own; every file is compared with what it must hold. Submissions a ' +
    'second until the last one is answered, runs a second until the last one has ended, both from the first submission. On a server that was ' +
    'just started, and again on the same one. Processor time is that of the server and all its processes, without the program that submits.',
  async measure(bench) {
    const [cold, warm]: [Mixed[], Mixed[]] = [[], []];
    for (let round = 0; round < bench.runs; round++) {
      bench.say(`  round ${round + 1} of ${bench.runs}`);
      const measured = await coldAndWarm(bench);
      cold.push(measured.cold);
      warm.push(measured.warm);
    }
    return [
      ...figuresOf('just started', cold),
      ...figuresOf('warm', warm, { submissions: 1000, runs: 400, p99: 40 }),
    ];
  },
};

function figuresOf(
  when: string,
  all: readonly Mixed[],
  aims?: { readonly submissions: number; readonly runs: number; readonly p99: number },
): Figure[] {
  const atLeast = (value: number | undefined) =>
    value === undefined ? {} : { target: { bound: 'at least' as const, value } };
  return [
    {
      name: `${when}, submissions`,
      unit: 'per second',
      samples: all.map(({ submissionsPerSecond }) => submissionsPerSecond),
      ...atLeast(aims?.submissions),
    },
    {
      name: `${when}, runs`,
      unit: 'per second',
      samples: all.map(({ runsPerSecond }) => runsPerSecond),
      ...atLeast(aims?.runs),
    },
    {
      name: `${when}, p99 of a submission`,
      unit: 'ms',
      samples: all.map(({ p99Ms }) => p99Ms),
      ...(aims === undefined ? {} : { target: { bound: 'at most', value: aims.p99 } }),
    },
    {
      name: `${when}, processor time of a run`,
      unit: 'ms',
      samples: all.map(({ cpuMsPerRun }) => cpuMsPerRun),
    },
  ];
}

async function coldAndWarm(bench: Bench): Promise<{ readonly cold: Mixed; readonly warm: Mixed }> {
  const server = await startHeadgate(
    bench.folder,
    '--max-concurrent-runs',
    AT_ONCE,
    '--max-queued-runs',
    String(RUNS),
  );
  try {
    const cold = await submitAll(bench, server);
    return { cold, warm: await submitAll(bench, server) };
  } finally {
    await server.stop();
  }
}

async function submitAll(
  bench: Bench,
  { url, pid }: { readonly url: string; readonly pid: number },
): Promise<Mixed> {
  const folder = join(bench.folder, 'mixed');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const input = await smallInput(folder);
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const latencies: number[] = [];
  const cpuBefore = cpuMsOfTree(pid);
  const begun = performance.now();
  let next = 0;
  const keepSubmitting = async (): Promise<void> => {
    while (next < RUNS) {
      const config = smallDocument(input, join(folder, `${next++}.jsonl`));
      const sent = performance.now();
      await post(agent, `${url}/v1/runs`, JSON.stringify({ config }));
      latencies.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, keepSubmitting));
  const submittedMs = performance.now() - begun;
  agent.destroy();
  await untilIdle(url, 25);
  const endedMs = performance.now() - begun;
  const cpuMs = cpuMsOfTree(pid) - cpuBefore;
  await verifySmallRuns(url, folder, RUNS);
  return {
    submissionsPerSecond: (RUNS / submittedMs) * 1000,
    runsPerSecond: (RUNS / endedMs) * 1000,
    p99Ms: quantile(
      latencies.sort((one, other) => one - other),
      0.99,
    ),
    cpuMsPerRun: cpuMs / RUNS,
  };
}

function post(agent: http.Agent, url: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    const request = http.request(url, { agent, method: 'POST', headers }, (response) => {
      response.resume().on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 202) resolve();
        else reject(new Error(`a submission was answered with ${response.statusCode}`));
      });
    });
    request.on('error', reject).end(body);
  });
}
