/** Unbounded sources that break the contract on purpose. */
import type { Page } from '../../../src/kit/page.ts';
import type { ReadRequest, Source, SourceDefinition } from '../../../src/kit/source.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import {
  memoryLog,
  memoryQueueSource,
  queueFixture,
  queueOf,
  type QueueConfig,
} from '../reference/memory-queue.ts';
import type { SourceFixture } from '../../../src/kit/source-fixture.ts';
import type { BrokenSource } from './sources.ts';

type Definition = SourceDefinition<QueueConfig>;

function broken(
  caughtBy: string,
  what: string,
  change: (sound: Source, config: QueueConfig) => Partial<Source>,
  definition: Definition = memoryQueueSource,
  fixture: Partial<SourceFixture> = {},
): BrokenSource {
  return {
    what,
    caughtBy,
    fixture: { ...queueFixture, ...fixture },
    definition: {
      ...definition,
      open: async (config: QueueConfig, context) => {
        const sound = await definition.open(config, context);
        return { ...sound, ...change(sound, config) };
      },
    },
  };
}

/** Acknowledges each page by itself as soon as the next one is asked for. */
async function* hasty(sound: Source, request: ReadRequest): AsyncGenerator<Page> {
  for await (const page of sound.pages(request)) {
    yield page;
    if (page.bookmark !== undefined) await sound.acknowledge?.(page.bookmark);
  }
}

/** How far each queue was delivered, once something of it was acknowledged. */
const delivered = new Map<string, number>();

/** Begins where the last reader ended, as soon as that one has acknowledged anything. */
function forgetful(sound: Source, { name }: QueueConfig): Partial<Source> {
  let position = 0;
  return {
    async *pages(request) {
      queueOf(name).acknowledged = Math.max(queueOf(name).acknowledged, delivered.get(name) ?? 0);
      for await (const page of sound.pages(request)) {
        position = Number((page.bookmark as JsonObject)['at']);
        yield page;
      }
    },
    async acknowledge(bookmark) {
      delivered.set(name, position);
      await sound.acknowledge?.(bookmark);
    },
  };
}

export const BROKEN_UNBOUNDED: readonly BrokenSource[] = [
  broken(
    'acknowledge',
    'acknowledges before it is told to',
    (sound) => ({ pages: (request) => hasty(sound, request) }),
    memoryLog,
  ),
  broken(
    'acknowledge',
    'acknowledges everything at the first word',
    (_sound, { name }) => ({
      acknowledge() {
        const queue = queueOf(name);
        queue.acknowledged = queue.records.length;
        return Promise.resolve();
      },
    }),
    memoryLog,
  ),
  broken('redelivery', 'never delivers again what was not acknowledged', forgetful),
  broken('heartbeat', 'sends no heartbeat', () => ({ heartbeat: () => Promise.resolve() })),
  broken(
    'heartbeat',
    'acknowledges with its heartbeat',
    (sound, { name }) => ({
      heartbeat() {
        queueOf(name).acknowledged = 1;
        return sound.heartbeat?.() ?? Promise.resolve();
      },
    }),
    memoryLog,
  ),
  broken('lag', 'says that it is never behind', () => ({ lag: () => ({ records: 0 }) })),
];
