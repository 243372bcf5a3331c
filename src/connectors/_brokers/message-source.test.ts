import { expect, it } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { MessageSource, type MessageQueue } from './message-source.ts';

const lost = new ConnectorError('refused', 'the queue was deleted');

/** Two messages, and then no queue any more. */
function queueThatEnds(more: Partial<MessageQueue<string>>): MessageQueue<string> {
  const messages = ['a', 'b'];
  return {
    take: () => messages.shift(),
    wait: () => Promise.reject(lost),
    close: () => Promise.resolve(),
    ...more,
  };
}

async function read(queue: MessageQueue<string>, idleSeconds = 10): Promise<unknown[]> {
  const source = new MessageSource({
    queue,
    format: {
      record: (text) => text,
      bytes: (text) => Buffer.from(text),
      size: (text) => text.length,
      name: (text) => text,
    },
    context: sourceContext({ env: testEnv({ clock: stillClock() }) }),
    batchSize: 10,
    maxMessages: undefined,
    idleSeconds,
    onDecodeError: 'fail',
  });
  const found: unknown[] = [];
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE })) found.push(...page.records());
  } catch (error) {
    found.push(error);
  }
  return found;
}

it('gives what nobody sends again before it tells of the failure', async () => {
  expect(await read(queueThatEnds({}))).toEqual(['a', 'b', lost]);
});

it('leaves what comes again to the next run', async () => {
  const acknowledge = (): Promise<void> => Promise.resolve();
  expect(await read(queueThatEnds({ acknowledge }))).toEqual([lost]);
});

const silent = new ConnectorError('timeout', 'the service does not answer');

/** Each of its requests takes longer than a wait, and fails; `answers` says which do not. */
class SlowQueue implements MessageQueue<string> {
  isFailing = false;
  requests = 0;
  #waits = 0;
  readonly #answers: (request: number) => boolean;

  constructor(answers: (request: number) => boolean = () => false) {
    this.#answers = answers;
  }

  take(): undefined {}

  async wait(): Promise<void> {
    this.#waits += 1;
    if (this.#waits % 3 !== 0) return;
    this.requests += 1;
    if (this.requests > 200) throw new Error('it asks without end');
    this.isFailing = !this.#answers(this.requests);
    if (this.isFailing) throw silent;
  }

  hasAnswered(): boolean {
    return !this.isFailing && this.#waits % 3 === 0;
  }

  async close(): Promise<void> {}
}

it('gives up requests that fail again and again after the wait in which they were sent', async () => {
  const queue = new SlowQueue();
  expect(await read(queue)).toEqual([silent]);
  expect(queue.requests).toBe(3);
});

it('counts anew when a request was answered', async () => {
  const queue = new SlowQueue((request) => request % 3 === 0);
  expect(await read(queue, 2)).toEqual([]);
  expect(queue.requests).toBeGreaterThan(6);
});

it('does not take silence of a service for silence of its senders', async () => {
  const queue = new SlowQueue((request) => request > 2);
  expect(await read(queue, 0.1)).toEqual([]);
  expect(queue.requests).toBe(3);
});
