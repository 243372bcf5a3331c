/**
 * Unbounded sources that keep the whole contract, over lists in memory: one whose reader remembers
 * where it stands (`memory_log`), and one whose other side does (`memory_queue`).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { JSON_LINES } from '../../../src/kit/json-lines.ts';
import { batchSize } from '../../../src/kit/schema.ts';
import {
  defineSource,
  type ReadRequest,
  type Source,
  type Unbounded,
} from '../../../src/kit/source.ts';
import type { SourceContext } from '../../../src/kit/context.ts';
import { ConnectorError } from '../../../src/lib/errors.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../../src/lib/text/json.ts';
import type { SourceFixture } from '../../../src/kit/source-fixture.ts';
import { pageOf, RECORDS } from './memory-source.ts';

const config = z.strictObject({
  name: z.string().meta({ description: 'Queue to read.' }),
  batch_size: batchSize(),
});
export type QueueConfig = z.output<typeof config>;

interface Queue {
  readonly records: JsonObject[];
  acknowledged: number;
  heartbeats: number;
}

const queues = new Map<string, Queue>();
const IDLE_FLUSH_MS = 10;
const POLL_MS = 2;

export function queueOf(name: JsonValue | undefined): Queue {
  const queue = typeof name === 'string' ? queues.get(name) : undefined;
  if (queue === undefined) throw new ConnectorError('missing', 'there is no queue of this name');
  return queue;
}

function memoryQueue(type: string, redelivery: Unbounded['redelivery']) {
  return defineSource<QueueConfig>({
    type,
    description: 'Records that arrive in memory.',
    config,
    examples: [],
    capabilities: () => ({
      replay: redelivery === 'bookmark' ? 'positional' : 'none',
      bookmarks: true,
      encodings: [JSON_LINES.name],
      unbounded: { redelivery, idleFlushMs: IDLE_FLUSH_MS, heartbeatMs: 10 },
    }),
    datasetUri: ({ name }) => `memory://${name}`,
    open: (value, context) => Promise.resolve(openQueue(value, context, redelivery)),
  });
}

/** Bookmarks say where a later read goes on. */
export const memoryLog = memoryQueue('memory_log', 'bookmark');

/** What is not acknowledged is delivered again, whatever the bookmark. */
export const memoryQueueSource = memoryQueue('memory_queue', 'upstream');

function openQueue(
  { name, batch_size: size }: QueueConfig,
  context: SourceContext,
  redelivery: Unbounded['redelivery'],
): Source {
  let position = 0;
  return {
    async *pages(request) {
      const queue = queueOf(name);
      position = redelivery === 'upstream' ? queue.acknowledged : startOf(request);
      const end = position + (request.limit ?? Infinity);
      while (!context.signal.aborted && position < end) {
        const from = position;
        const to = await filled(queue, { from, most: Math.min(end, from + size), context });
        if (to === from) continue;
        position = to;
        yield pageOf(request.lane, queue.records.slice(from, to), { bookmark: { at: to } });
      }
    },
    acknowledge(bookmark) {
      const queue = queueOf(name);
      queue.acknowledged = Math.max(queue.acknowledged, Number((bookmark as JsonObject)['at']));
      return Promise.resolve();
    },
    heartbeat() {
      queueOf(name).heartbeats += 1;
      return Promise.resolve();
    },
    lag: () => ({ records: queueOf(name).records.length - position }),
    close: () => Promise.resolve(),
  };
}

function startOf({ bookmark }: ReadRequest): number {
  return bookmark === undefined ? 0 : Number((bookmark as JsonObject)['at']);
}

interface Fill {
  readonly from: number;
  readonly most: number;
  readonly context: SourceContext;
}

/** Where the next page ends: when it is full, or after the idle time with what has come. */
async function filled(
  { records }: Queue,
  { from, most, context: { signal, pageBytes } }: Fill,
): Promise<number> {
  for (let waited = 0; waited < IDLE_FLUSH_MS && !signal.aborted; waited += POLL_MS) {
    if (records.length >= most) break;
    await sleep(POLL_MS);
  }
  let bytes = 0;
  let to = from;
  while (to < Math.min(most, records.length)) {
    bytes += stringifyJson(records[to] ?? null).length + 1;
    if (bytes > pageBytes && to > from) break;
    to += 1;
  }
  return to;
}

let made = 0;

function store(records: readonly JsonObject[]): JsonObject {
  const name = `queue-${(made += 1)}`;
  queues.set(name, { records: [...records], acknowledged: 0, heartbeats: 0 });
  return { name };
}

export const queueFixture: SourceFixture = {
  config: () => store(RECORDS),
  records: RECORDS,
  batchSizes: [4, 7],
  broken: { 'a missing queue': { name: 'nothing' } },
  empty: () => store([]),
  endless: () => store([]),
  upstream: {
    fresh: () => store([]),
    send: (value, records) => {
      queueOf(value['name']).records.push(...(records as JsonObject[]));
      return Promise.resolve();
    },
    acknowledged: (value) => queueOf(value['name']).acknowledged,
    heartbeats: (value) => queueOf(value['name']).heartbeats,
  },
};
