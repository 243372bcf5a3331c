import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loginFields } from '../../../test/conformance/fixtures/aws.ts';
import { makeQueue, messagesIn, send, services } from '../../../test/conformance/fixtures/sqs.ts';
import { sourceContext } from '../../../test/fakes/env.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { sqsSource } from './index.ts';

const LONG = 120_000;
const [, service] = services;
const missing = service?.missing ?? (service === undefined ? 'no service' : undefined);

/** Reads so many messages, and acknowledges so many pages. */
async function read(queue: string, most: number, acknowledged: number): Promise<JsonValue[]> {
  const config = { queue_url: queue, ...loginFields, batch_size: 5, max_messages: most };
  const checked = check(sqsSource.config, { ...config, wait_time_seconds: 1 });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await sqsSource.open(checked.value, sourceContext());
  const found: JsonValue[] = [];
  let pages = 0;
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE })) {
      found.push(...page.records());
      pages += 1;
      if (pages <= acknowledged) await source.acknowledge?.(page.bookmark ?? null);
    }
    return found;
  } finally {
    await source.close();
  }
}

const sorted = (values: readonly JsonValue[]) => values.toSorted((a, b) => Number(a) - Number(b));

describe.skipIf(missing !== undefined)(`ElasticMQ ${missing ?? ''}`, { timeout: LONG }, () => {
  beforeAll(() => service?.start(), LONG);
  afterAll(() => service?.stop());

  it('gives every message once, and again what was not acknowledged, in any order', async () => {
    const queue = await makeQueue(service?.url() ?? '');
    const all = Array.from({ length: 23 }, (_, id) => id);
    await send(queue, all.map(String));
    const first = await read(queue, 23, 2);
    expect(sorted(first)).toEqual(all);
    expect(await messagesIn(queue)).toBe(13);
    const second = await read(queue, 13, Infinity);
    expect(sorted(second)).toEqual(sorted(first.slice(10)));
    expect(await messagesIn(queue)).toBe(0);
  });
});
