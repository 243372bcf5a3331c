import { expect, it } from 'vitest';
import { sourceContext } from '../../../test/fakes/env.ts';
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

async function read(queue: MessageQueue<string>): Promise<unknown[]> {
  const source = new MessageSource({
    queue,
    format: {
      record: (text) => text,
      bytes: (text) => Buffer.from(text),
      size: (text) => text.length,
      name: (text) => text,
    },
    context: sourceContext(),
    batchSize: 10,
    maxMessages: undefined,
    idleSeconds: 10,
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
