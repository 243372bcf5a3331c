import type { Consumer } from '@platformatic/kafka';
import { expect, it } from 'vitest';
import { sourceContext } from '../../../../test/fakes/env.ts';
import { failureOf } from '../../../../test/fakes/failure.ts';
import { LogReader } from './log-reader.ts';

const TOPIC = 'orders';
const [GOOD, BAD] = [1, 2];
const idle = { responses: [], throttleTimeMs: 0 };

/** Two brokers, of which one leads each partition. */
function brokers(fetch: (node: number) => Promise<unknown>): Consumer {
  const partitions = [{ leader: GOOD }, { leader: BAD }];
  const topics = new Map([[TOPIC, { id: 'id', partitions }]]);
  return {
    topics: { trackAll() {} },
    metadata: () => Promise.resolve({ topics }),
    fetch: ({ node }: { node: number }) => fetch(node),
  } as unknown as Consumer;
}

function readerOf(consumer: Consumer): LogReader {
  const fetch = { minBytes: 1, maxBytes: 1, partitionBytes: 1, maxWaitMs: 1 };
  return new LogReader(
    {
      consumer,
      settings: { fetch, readsUncommitted: false },
      context: sourceContext(),
      outOfRange: () => 0n,
    },
    [0, 1].map((partition) => ({ topic: TOPIC, partition, offset: 0n })),
  );
}

it('says that a broker is failing until that one has answered', async () => {
  let isBroken = true;
  const reader = readerOf(
    brokers(async (node) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (node === BAD && isBroken) throw new Error('Request timed out');
      return idle;
    }),
  );
  expect(reader.isFailing).toBe(false);
  expect(await failureOf(reader.next(100))).toMatchObject({ kind: 'timeout' });
  expect(reader.isFailing).toBe(true);
  await failureOf(reader.next(20));
  expect(reader.isFailing).toBe(true);
  isBroken = false;
  expect(await reader.nextByAll()).toBe(undefined);
  expect(reader.isFailing).toBe(false);
});
