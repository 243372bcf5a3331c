/** Lineage events as messages of a real broker. */
import { Consumer, stringDeserializers } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  brokers,
  client,
  makeTopic,
  missing,
  start,
  stop,
  unique,
} from '../../../test/conformance/fixtures/kafka.ts';
import { run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { fakeSink, fakeSource, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import { lineageSchema } from '../../blocks/lineage/schema.ts';
import { Outages } from '../../lib/outages.ts';
import { createLineageObserver } from './observer.ts';

interface Told {
  readonly key: string;
  readonly event: { readonly eventType: string; readonly run: { readonly runId: string } };
}

async function messagesOf(topic: string, count: number): Promise<Told[]> {
  const consumer = new Consumer({
    ...client(),
    groupId: unique('lineage'),
    deserializers: stringDeserializers,
  });
  const stream = await consumer.consume({ topics: [topic], mode: 'earliest' });
  const told: Told[] = [];
  for await (const { key, value } of stream) {
    told.push({ key, event: JSON.parse(value) as Told['event'] });
    if (told.length === count) break;
  }
  await consumer.close(true);
  return told;
}

describe.skipIf(missing !== undefined)('a topic of Kafka', () => {
  beforeAll(start);
  afterAll(stop);

  it.each(['kafka', 'broker'])(
    'gets the events of a run in their order, by its key (%s)',
    async (type) => {
      const topic = await makeTopic(unique('lineage'), 3);
      const env = testEnv();
      const transport = { type, config: { brokers: brokers(), topic } };
      const spec = lineageSchema.parse({ namespace: 'ns', transport });
      const rows = ['a', 'b', 'c'].map((id) =>
        plannedRow(fakeSource([{ records: [{ id: 1 }] }]), fakeSink().definition, { id }),
      );
      const outcome = await run(planOf(rows), {
        env,
        observers: [createLineageObserver({ spec }, env, new Outages(env.clock))],
      });
      expect(outcome.status).toBe('completed');
      const told = await messagesOf(topic, 6);
      for (const { invocation_id: id } of outcome.invocations) {
        const events = told.filter(({ key }) => key === id).map(({ event }) => event);
        expect(events.map(({ eventType, run: { runId } }) => [eventType, runId])).toEqual([
          ['START', id],
          ['COMPLETE', id],
        ]);
      }
    },
  );
});
