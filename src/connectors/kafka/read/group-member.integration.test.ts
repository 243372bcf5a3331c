/** Sources that read the same topics as members of one group, each with a share. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Admin, Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  brokers,
  client,
  makeTopic,
  missing,
  start,
  stop,
  unique,
} from '../../../../test/conformance/fixtures/kafka.ts';
import { sourceContext } from '../../../../test/fakes/env.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { RECORDS_LANE } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import type { Share } from '../../../kit/share.ts';
import type { Source } from '../../../kit/source.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { kafkaSource } from '../index.ts';

const PARTITIONS = 4;
const EACH = 50;
const ALL = PARTITIONS * EACH;
const LONG = { timeout: 60_000, interval: 50 };

interface Given {
  readonly topic: string;
  readonly group: string;
}

/** The messages are numbers. */
async function filled(): Promise<Given> {
  const topic = await makeTopic(unique('shared'), PARTITIONS);
  await send(topic, 0, EACH);
  return { topic, group: unique('group') };
}

async function send(topic: string, from: number, each: number): Promise<void> {
  const producer = new Producer({ ...client(), retries: 50, idempotent: true });
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    const first = from + partition * each;
    const numbers = Array.from({ length: each }, (_, n) => first + n);
    const messages = numbers.map((n) => ({ topic, partition, value: Buffer.from(String(n)) }));
    await producer.send({ messages });
  }
  await producer.close();
}

function configOf({ topic, group }: Given, more: JsonObject = {}): JsonObject {
  return {
    brokers: brokers(),
    topics: [topic],
    group_id: group,
    auto_offset_reset: 'earliest',
    idle_timeout: 2,
    session_timeout: 6,
    poll_timeout: 0.2,
    batch_size: 5,
    ...more,
  };
}

function parsed(config: JsonObject) {
  const checked = check(kafkaSource.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

interface MemberOptions {
  readonly bookmark?: JsonValue;
  /** What writing a page takes. */
  readonly pageMs?: number;
}

/** Reads as the page loop does: what was given is committed whenever nothing comes, and at the end. */
class Member {
  readonly numbers: number[] = [];
  readonly ended: Promise<void>;
  readonly #stop = new AbortController();

  constructor(config: JsonObject, share: Share, options: MemberOptions = {}) {
    this.ended = this.#read(config, share, options);
    this.ended.catch(() => {});
  }

  stop(): void {
    this.#stop.abort(new Error('the test has seen enough'));
  }

  async #read(
    config: JsonObject,
    share: Share,
    { bookmark: from, pageMs = 0 }: MemberOptions,
  ): Promise<void> {
    const { signal } = this.#stop;
    const source = await kafkaSource.open(parsed(config), sourceContext({ share, signal }));
    const request = { lane: RECORDS_LANE, ...(from === undefined ? {} : { bookmark: from }) };
    const pages = source.pages(request)[Symbol.asyncIterator]();
    let last: JsonValue | undefined;
    try {
      for (;;) {
        const next = pages.next();
        next.catch(() => {});
        const isIdle = await Promise.race([next.then(() => false), sleep(200, true)]);
        if (isIdle) last = await acknowledged(source, last);
        const { done, value: page } = await next;
        if (done === true) break;
        for (const { value } of page.records() as { value: number }[]) this.numbers.push(value);
        last = page.bookmark;
        await sleep(pageMs);
      }
      await acknowledged(source, last);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await source.close();
    }
  }
}

async function acknowledged(source: Source, bookmark: JsonValue | undefined): Promise<undefined> {
  if (bookmark !== undefined) await source.acknowledge?.(bookmark);
}

async function committed({ topic, group }: Given): Promise<number> {
  const admin = new Admin(client());
  const partitionIndexes = Array.from({ length: PARTITIONS }, (_, n) => n);
  const groups = [{ groupId: group, topics: [{ name: topic, partitionIndexes }] }];
  const [found] = await admin.listConsumerGroupOffsets({ groups });
  await admin.close();
  const partitions = found?.topics[0]?.partitions ?? [];
  return partitions.reduce((sum, { committedOffset }) => sum + Number(committedOffset), 0);
}

const sorted = (...members: readonly Member[]): number[] =>
  members.flatMap(({ numbers }) => numbers).sort((one, other) => one - other);
const everything = Array.from({ length: ALL }, (_, n) => n);

describe.skipIf(missing !== undefined)(`members ${missing ?? ''}`, { timeout: 90_000 }, () => {
  beforeAll(start, 60_000);
  afterAll(stop);

  it('read everything once together, also when one comes later and one leaves', async () => {
    const given = await filled();
    const slow = { pageMs: 100 };
    const one = new Member(configOf(given), { index: 0, count: 3 }, slow);
    await eventually(() => expect(one.numbers.length).toBeGreaterThan(0), LONG);
    const two = new Member(configOf(given), { index: 1, count: 3 }, slow);
    await eventually(() => expect(two.numbers.length).toBeGreaterThan(0), LONG);
    const third = configOf(given, { max_messages: 15 });
    const three = new Member(third, { index: 2, count: 3 }, slow);
    await Promise.all([one, two, three].map(({ ended }) => ended));
    expect(three.numbers.length).toBeLessThanOrEqual(5);
    expect(sorted(one, two, three)).toEqual(everything);
    expect(await committed(given)).toBe(ALL);
  });

  it('leave what was not committed to the others', async () => {
    const given = await filled();
    const one = new Member(configOf(given), { index: 0, count: 2 }, { pageMs: 1500 });
    await eventually(() => expect(one.numbers.length).toBeGreaterThan(0), LONG);
    one.stop();
    await one.ended;
    expect(one.numbers.length).toBeLessThanOrEqual(10);
    const two = new Member(configOf(given), { index: 1, count: 2 });
    await two.ended;
    expect(new Set(two.numbers)).toEqual(new Set(everything));
  });

  it('begin where the group stands, or where a run without members stood if that is farther', async () => {
    const given = await filled();
    const bookmark = {
      partition_offsets: [
        { topic: given.topic, partition: 0, offset: 40 },
        { topic: given.topic, partition: 1, offset: 0 },
      ],
    };
    const first = new Member(configOf(given), { index: 0, count: 1 }, { bookmark });
    await first.ended;
    expect(sorted(first)).toEqual(everything.filter((n) => n >= 40));
    await send(given.topic, ALL, 1);
    const second = new Member(configOf(given), { index: 0, count: 1 }, { bookmark });
    await second.ended;
    expect(sorted(second)).toEqual([ALL, ALL + 1, ALL + 2, ALL + 3]);
  });

  it('read with `latest` what comes from the first run on', async () => {
    const given = await filled();
    const config = configOf(given, { auto_offset_reset: 'latest', idle_timeout: 1 });
    const first = new Member(config, { index: 0, count: 1 });
    await first.ended;
    expect(first.numbers).toEqual([]);
    await send(given.topic, ALL, 1);
    const second = new Member(config, { index: 0, count: 1 });
    await second.ended;
    expect(second.numbers).toHaveLength(PARTITIONS);
  });

  it('are never more than partitions', async () => {
    const given = await filled();
    const config = parsed(configOf(given));
    expect(await kafkaSource.mostShares?.(config, sourceContext())).toBe(PARTITIONS);
    const nowhere = parsed(configOf({ ...given, topic: unique('nowhere') }));
    await expect(kafkaSource.mostShares?.(nowhere, sourceContext())).rejects.toMatchObject({
      kind: 'missing',
    });
  });
});
