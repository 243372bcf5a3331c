import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loginFields } from '../../../test/conformance/fixtures/aws.ts';
import {
  clientOf,
  emulator,
  makeStream,
  put,
  shardIds,
} from '../../../test/conformance/fixtures/kinesis.ts';
import { sinkContext, sourceContext } from '../../../test/fakes/env.ts';
import { Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { kinesisSink, kinesisSource } from './index.ts';

const LONG = 120_000;
const { missing } = emulator;

function parsed(definition: { readonly config: unknown }, config: JsonObject): never {
  const all = { endpoint_url: emulator.url(), ...loginFields, ...config };
  const checked = check(definition.config as never, all);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

async function read(stream: string, most: number, from?: JsonValue) {
  const config = { stream_name: stream, poll_interval_ms: 200, max_messages: most };
  const source = await kinesisSource.open(
    parsed(kinesisSource, { ...config, batch_size: 7 }),
    sourceContext(),
  );
  const data: JsonValue[] = [];
  const bookmarks: JsonValue[] = [];
  try {
    const request = { lane: RECORDS_LANE, ...(from === undefined ? {} : { bookmark: from }) };
    for await (const page of source.pages(request)) {
      for (const record of page.records()) data.push((record as JsonObject)['data'] ?? null);
      bookmarks.push(page.bookmark ?? null);
    }
    return { data, bookmarks };
  } finally {
    await source.close();
  }
}

describe.skipIf(missing !== undefined)(`Kinesalite ${missing ?? ''}`, { timeout: LONG }, () => {
  beforeAll(emulator.start, LONG);
  afterAll(emulator.stop);

  it('takes records, and gives them once, from every bookmark on', async () => {
    const stream = await makeStream(emulator.url());
    const records = Array.from({ length: 23 }, (_, id) => ({ id }));
    const key = { partition_key: { type: 'static', value: 'k' } };
    const sink = await kinesisSink.open(
      parsed(kinesisSink, { stream_name: stream, batch_size: 10, concurrency: 1, ...key }),
      sinkContext(),
    );
    expect(await sink.write(Page.ofRecords(records), { partial: false })).toMatchObject({
      written: 23,
    });
    await sink.close();
    const { data, bookmarks } = await read(stream, 23);
    expect(data).toEqual(records);
    expect((await read(stream, 16, bookmarks[0])).data).toEqual(records.slice(7));
  });

  it('goes on in the shards of a stream that was split', async () => {
    const stream = await makeStream(emulator.url());
    await put(emulator.url(), stream, ['1', '2']);
    const { bookmarks } = await read(stream, 2);
    const client = clientOf(emulator.url());
    const [ShardToSplit] = await shardIds(emulator.url(), stream);
    const NewStartingHashKey = String(2n ** 127n);
    await client.splitShard({ StreamName: stream, ShardToSplit, NewStartingHashKey });
    await expect.poll(async () => (await shardIds(emulator.url(), stream)).length).toBe(3);
    await put(emulator.url(), stream, ['3'], 'a');
    await put(emulator.url(), stream, ['4'], 'b');
    const { data } = await read(stream, 2, bookmarks.at(-1));
    expect(new Set(data)).toEqual(new Set([3, 4]));
  });

  it('is asked by the doctor', async () => {
    const stream = await makeStream(emulator.url());
    const config = parsed(kinesisSink, { stream_name: stream });
    expect(await kinesisSink.probe?.(config, sinkContext())).toMatchObject([{ status: 'pass' }]);
  });
});
