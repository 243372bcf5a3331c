/** Against servers of Google: its emulator, and pstest, which its client for Go is tested with. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sinkContext, sourceContext } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import {
  hostOf,
  makePlace,
  messageOf,
  PROJECT,
  publish,
  pullNow,
  services,
  type Place,
} from '../../../test/conformance/fixtures/pubsub.ts';
import { Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { pubsubSink, pubsubSource } from './index.ts';

const COUNT = 250;

function parsed(definition: { readonly config: unknown }, config: JsonObject): never {
  const checked = check(definition.config as never, { project_id: PROJECT, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

describe.each(services.filter(({ name }) => name !== 'a fake'))('$name', (service) => {
  describe.skipIf(service.missing !== undefined)(service.missing ?? 'is here', () => {
    beforeAll(() => service.start(), 90_000);
    afterAll(() => service.stop());

    const opened = ({ subscription }: Place, config: JsonObject): Promise<Source> =>
      pubsubSource.open(
        parsed(pubsubSource, {
          subscription,
          emulator_host: hostOf(service.url()),
          idle_termination_secs: 2,
          ...config,
        }),
        sourceContext(),
      );

    it('gives every message, with its attributes, and again until it is acknowledged', async () => {
      const place = await makePlace(service.url());
      const messages = Array.from({ length: COUNT }, (_, id) =>
        messageOf(JSON.stringify({ id }), { attributes: { n: `n${id}` } }),
      );
      await publish(service.url(), place, messages);
      const first = await readAll(await opened(place, { max_messages: COUNT }));
      expect(idsOf(first)).toEqual(new Set(Array.from({ length: COUNT }, (_, id) => id)));
      for (const record of first.flatMap((page) => [...page.records()]) as JsonObject[]) {
        const { data, __attributes: attributes, publish_time_millis: time } = record;
        expect(attributes).toEqual({ n: `n${(data as { id: number }).id}` });
        expect(Math.abs(Date.now() - Number(time))).toBeLessThan(60_000);
      }
      const source = await opened(place, { max_messages: COUNT, batch_size: 100 });
      let count = 0;
      for await (const page of source.pages({ lane: RECORDS_LANE })) {
        count += page.count;
        await source.acknowledge?.(page.bookmark ?? null);
      }
      await source.close();
      expect(count).toBe(COUNT);
      expect(await pullNow(service.url(), place.subscription)).toEqual([]);
    });

    it('delivers what the sink published, in the order of its keys', async () => {
      const place = await makePlace(service.url(), { enable_message_ordering: true });
      const sink = await pubsubSink.open(
        parsed(pubsubSink, {
          topic: place.topic,
          emulator_host: hostOf(service.url()),
          ordering_key: { type: 'field', name: 'key' },
          batch_size: 3,
        }),
        sinkContext(),
      );
      const records = Array.from({ length: 20 }, (_, id) => ({ id, key: `k${id % 2}` }));
      await sink.write(Page.ofRecords(records), { partial: false });
      await sink.close();
      const source = await opened(place, { max_messages: records.length });
      const found: JsonObject[] = [];
      for await (const page of source.pages({ lane: RECORDS_LANE })) {
        found.push(...(page.records() as JsonObject[]));
        await source.acknowledge?.(page.bookmark ?? null);
      }
      await source.close();
      for (const key of ['k0', 'k1'])
        expect(found.filter((one) => one['ordering_key'] === key).map(({ data }) => data)).toEqual(
          records.filter((one) => one.key === key),
        );
    });

    it('counts deliveries where the subscription has a topic for dead letters', async () => {
      const dead = await makePlace(service.url());
      const policy = { dead_letter_topic: dead.topic, max_delivery_attempts: 5 };
      const place = await makePlace(service.url(), { dead_letter_policy: policy });
      await publish(service.url(), place, [messageOf('1')]);
      const attempts: JsonValue[] = [];
      for (let read = 0; read < 2; read += 1) {
        const [page] = await readAll(await opened(place, { max_messages: 1 }));
        const [record] = page?.records() ?? [];
        attempts.push(isObject(record) ? (record['delivery_attempt'] ?? null) : null);
      }
      expect(attempts).toEqual([1, 2]);
    });
  });
});

function idsOf(pages: readonly Page[]): Set<unknown> {
  const records = pages.flatMap((page) => [...page.records()]) as JsonObject[];
  return new Set(records.map(({ data }) => (isObject(data) ? data['id'] : undefined)));
}
