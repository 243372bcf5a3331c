/** Webhooks: how fast they fire beside plain submissions, and what many of them leave in memory. */
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PERSON_FIELDS, personAt, personLine } from '../data.ts';
import type { Bench, Move } from '../move.ts';
import { SERIAL } from '../programs/serial.ts';
import type { Figure } from '../result.ts';
import { startHeadgate, untilIdle, type Load, type Service } from '../service.ts';
import { oneHeadgate, sleepingDocument, smallDocument, submittedDocument } from './service.ts';

/** What a trigger adds to a submission may cost so much. */
const LEAST_SHARE = 0.7;
const FIRES_AT_ONCE = 32;
/** A tenth of the fires comes first: caches and the heap of the server have their size then. */
const FIRST_SHARE = 10;
/** Fires that find the queue full would otherwise take the processor from the runs. */
const FULL_QUEUE_MS = 200;
const QUEUE = '1000';
const ROWS_PER_FIRE = 10;
const MOST_GROWTH = 1.15;

interface FireMove {
  readonly name: string;
  readonly title: string;
  readonly what: string;
  readonly isDifferent: boolean;
}

function fireMove({ name, title, what, isDifferent }: FireMove): Move {
  return {
    kind: 'service',
    name,
    title,
    how:
      `${what} Whole servers in alternation, one fired at, one given the same documents by \`POST /v1/runs\`, each under load from another process. ` +
      'The only worker waits in a query that sleeps, so that runs are stored and queued; every request was answered with 202.',
    measure: (bench) => measureFires(bench, isDifferent),
  };
}

const fires = fireMove({
  name: 'serve-webhook',
  title: 'POST /v1/triggers/{name}, 32 connections, 1.4 kB YAML document, durable',
  what: 'Every run has the same document.',
  isDifferent: false,
});

const differentFires = fireMove({
  name: 'serve-webhook-different',
  title: 'POST /v1/triggers/{name}, 32 connections, as above, no two documents the same',
  what: 'Each document has an output of its own, for webhooks by `${trigger.body}`.',
  isDifferent: true,
});

async function measureFires(bench: Bench, isDifferent: boolean): Promise<readonly Figure[]> {
  const sleeping = await sleepingDocument(bench);
  const runs = { sleeping, bodyFile: join(bench.folder, 'submission.json') };
  const config = submittedDocument(isDifferent ? SERIAL : SERIAL.replaceAll('#', '0'));
  await writeFile(runs.bodyFile, JSON.stringify({ config }));
  const webhook = {
    sleeping,
    bodyFile: join(bench.folder, 'event.txt'),
    path: '/v1/triggers/orders',
    options: ['--triggers', await writeTrigger(bench, isDifferent ? '${trigger.body}' : '0')],
  };
  await writeFile(webhook.bodyFile, SERIAL);
  const rounds = { fired: [] as Load[], submitted: [] as Load[] };
  await oneHeadgate(bench, webhook);
  for (let round = 0; round < bench.runs; round++) {
    bench.say(`  round ${round + 1} of ${bench.runs}`);
    rounds.fired.push(await oneHeadgate(bench, webhook));
    rounds.submitted.push(await oneHeadgate(bench, runs));
  }
  const share = rounds.fired.map(
    ({ perSecond }, index) => perSecond / (rounds.submitted[index]?.perSecond ?? Number.NaN),
  );
  return [
    {
      name: 'webhook, fires',
      unit: 'per second',
      samples: rounds.fired.map(({ perSecond }) => perSecond),
    },
    { name: 'webhook, p99', unit: 'ms', samples: rounds.fired.map(({ p99Ms }) => p99Ms) },
    {
      name: 'POST /v1/runs, submissions',
      unit: 'per second',
      samples: rounds.submitted.map(({ perSecond }) => perSecond),
    },
    {
      name: 'webhook / POST /v1/runs',
      unit: '×',
      samples: share,
      target: { bound: 'at least', value: LEAST_SHARE },
    },
  ];
}

/** The document of the submissions, in a file of its own. */
async function writeTrigger(bench: Bench, serial: string): Promise<string> {
  await writeFile(join(bench.folder, 'orders.yaml'), submittedDocument(serial));
  return writeTriggerFile(bench, 'orders.yaml');
}

async function writeTriggerFile(bench: Bench, config: string): Promise<string> {
  const file = join(bench.folder, 'triggers.json');
  const triggers = [{ name: 'orders', type: 'webhook', config }];
  await writeFile(file, JSON.stringify({ version: 1, triggers }));
  return file;
}

const memory: Move = {
  kind: 'service',
  name: 'serve-webhook-memory',
  title: 'Memory of a server after 100,000 fires of a webhook',
  how:
    'As many fires as a tenth of --rows, each with the run of a 10-record document, 32 at a time; those that find the queue full are repeated. ' +
    'Resident memory of the server, without its workers, when the queue is empty: after a tenth of the fires, and after all.',
  async measure(bench) {
    const count = Math.max(FIRST_SHARE, Math.floor(bench.rows / 10));
    const server = await startHeadgate(
      bench.folder,
      '--triggers',
      await writeSmallTrigger(bench),
      '--log-retention-secs',
      '0',
      '--max-queued-runs',
      QUEUE,
    );
    try {
      await fire(server, count / FIRST_SHARE);
      const first = await residentMiB(server);
      await fire(server, count - count / FIRST_SHARE);
      const all = await residentMiB(server);
      return [
        { name: `after ${count / FIRST_SHARE} fires`, unit: 'MiB', samples: [first] },
        { name: `after ${count} fires`, unit: 'MiB', samples: [all] },
        {
          name: 'growth',
          unit: '×',
          samples: [all / first],
          target: { bound: 'at most', value: MOST_GROWTH },
        },
      ] satisfies Figure[];
    } finally {
      await server.stop();
      await rm(join(bench.folder, 'fired'), { recursive: true, force: true });
    }
  },
};

async function writeSmallTrigger(bench: Bench): Promise<string> {
  const folder = join(bench.folder, 'fired');
  await mkdir(folder, { recursive: true });
  const input = join(folder, 'in.csv');
  const people = Array.from({ length: ROWS_PER_FIRE }, (_, index) => personAt(index));
  await writeFile(input, `${PERSON_FIELDS.join(',')}\n${people.map(personLine).join('')}`);
  // A file for each run would measure the file system.
  const output = join(folder, 'out-${trigger.query.slot}.jsonl');
  await writeFile(join(bench.folder, 'small.yaml'), smallDocument(input, `'${output}'`));
  return writeTriggerFile(bench, 'small.yaml');
}

async function fire({ url }: Service, count: number): Promise<void> {
  let next = 0;
  const keepFiring = async (slot: number): Promise<void> => {
    while (next < count) {
      next += 1;
      for (;;) {
        const answer = await fetch(`${url}/v1/triggers/orders?slot=${slot}`, { method: 'POST' });
        const text = await answer.text();
        if (answer.status === 202) break;
        if (answer.status !== 429) throw new Error(`a fire was answered with ${text}`);
        await pause(FULL_QUEUE_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: FIRES_AT_ONCE }, (_, slot) => keepFiring(slot)));
  await untilIdle(url, 50);
}

/** The least of a few seconds: what is collected late does not count. */
async function residentMiB({ pid }: Service): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 20; n += 1) {
    const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    least = Math.min(least, Number(kib) / 1024);
    await pause(250);
  }
  return least;
}

export const triggerMoves: readonly Move[] = [fires, differentFires, memory];
