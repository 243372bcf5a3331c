/** Topics of Kafka read by two servers together, each of whose shards is a member of one group. */
import { Admin, Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  brokers,
  client,
  makeTopic,
  missing,
  start,
  stop,
  unique,
} from '../conformance/fixtures/kafka.ts';
import { workshop, type Body, type Program } from '../e2e/serve-program.ts';
import { eventually } from '../support/eventually.ts';
import { WatchedDatabase } from './watched-database.ts';

const PARTITIONS = 4;
const EACH = 60;
const ALL = PARTITIONS * EACH;
const LONG_WAIT = { timeout: 90_000, interval: 100 };

describe.skipIf(missing !== undefined)(`members of a group ${missing ?? ''}`, () => {
  const shop = workshop();
  let database: WatchedDatabase;
  let args: readonly string[];
  let one: Program;
  let two: Program;

  beforeAll(async () => {
    database = await WatchedDatabase.open();
    args = ['--history', database.url, '--cluster', '--max-concurrent-runs', '2'];
    await start();
    [one, two] = await Promise.all([shop.start({ args }), shop.start({ args })]);
    await database.client.query(`
      CREATE FUNCTION pause_row() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END $$`);
  }, 120_000);
  afterAll(async () => {
    await shop.dispose();
    await stop();
    await database.close();
  });

  /** A topic of records that are numbered, and a run that moves it slowly into a table. */
  async function filled(shards: number): Promise<{ readonly topic: string; readonly run: Body }> {
    const topic = await makeTopic(unique('members'), PARTITIONS);
    const producer = new Producer({ ...client(), retries: 50, idempotent: true });
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      const numbers = Array.from({ length: EACH }, (_, n) => partition * EACH + n);
      const messages = numbers.map((n) => ({ topic, partition, value: Buffer.from(String(n)) }));
      await producer.send({ messages });
    }
    await producer.close();
    const table = topic.replace('-', '_');
    await database.client.query(`
      CREATE TABLE ${table} (value bigint);
      CREATE TRIGGER pause_row BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION pause_row()`);
    const source = {
      type: 'kafka',
      config: {
        brokers: brokers(),
        topics: [topic],
        group_id: topic,
        auto_offset_reset: 'earliest',
        idle_timeout: 3,
        session_timeout: 6,
        poll_timeout: 0.2,
        batch_size: 5,
      },
    };
    const sink = {
      type: 'postgres',
      config: {
        connection_url: database.url,
        table_name: table,
        column_mapping: 'auto_map',
      },
    };
    const run = {
      version: 1,
      name: topic,
      shard: { count: shards },
      pipeline: {
        source,
        transforms: [{ type: 'select', config: { fields: ['value'] } }],
        sink,
      },
    };
    return { topic, run };
  }

  async function moved(
    topic: string,
  ): Promise<{ readonly rows: number; readonly numbers: number }> {
    const { rows } = await database.client.query<{ rows: number; numbers: number }>(
      `SELECT count(*)::int AS rows, count(DISTINCT value)::int AS numbers FROM ${topic.replace('-', '_')}`,
    );
    return rows[0] ?? { rows: 0, numbers: 0 };
  }

  async function committed(topic: string): Promise<number> {
    const admin = new Admin(client());
    const partitionIndexes = Array.from({ length: PARTITIONS }, (_, n) => n);
    const groups = [{ groupId: topic, topics: [{ name: topic, partitionIndexes }] }];
    const [found] = await admin.listConsumerGroupOffsets({ groups });
    await admin.close();
    const partitions = found?.topics[0]?.partitions ?? [];
    return partitions.reduce((sum, { committedOffset }) => sum + Number(committedOffset), 0);
  }

  const ownersOf = async (id: string): Promise<readonly string[]> => {
    const { rows } = await database.client.query<{ owner: string }>(
      `SELECT DISTINCT owner FROM svc_serve_runs WHERE parent_id = $1 AND owner NOT LIKE '/%'`,
      [id],
    );
    return rows.map(({ owner }) => owner);
  };

  test('are on both servers, no more than partitions, and move everything', async () => {
    const { topic, run } = await filled(PARTITIONS + 3);
    const id = await one.submit(run);
    const record = await two.endedAtLast(id);
    expect(record.error).toBeNull();
    expect(record).toMatchObject({
      status: 'completed',
      shards: { total: PARTITIONS, completed: PARTITIONS },
    });
    const { numbers, rows } = await moved(topic);
    expect(numbers).toBe(ALL);
    expect(record.records_written).toBe(rows);
    expect(await committed(topic)).toBe(ALL);
    expect(await ownersOf(id)).toHaveLength(2);
  });

  test('lose nothing when their server is killed: another one goes on where they had committed', async () => {
    const { topic, run } = await filled(PARTITIONS);
    const victim = await shop.start({ args });
    const id = await victim.submit(run);
    await eventually(async () => {
      expect((await moved(topic)).rows).toBeGreaterThan(ALL / 8);
      expect(await ownersOf(id)).not.toHaveLength(0);
    }, LONG_WAIT);
    await victim.stop('SIGKILL');
    const record = await two.endedAtLast(id);
    expect(record.error).toBeNull();
    expect(record).toMatchObject({ status: 'completed', shards: { completed: PARTITIONS } });
    expect((await moved(topic)).numbers).toBe(ALL);
    expect(await committed(topic)).toBe(ALL);
  });

  test('end when the run is cancelled, and the next run moves the rest', async () => {
    const { topic, run } = await filled(2);
    const id = await one.submit(run);
    await eventually(async () => expect((await moved(topic)).rows).toBeGreaterThan(10), LONG_WAIT);
    expect((await two.call('POST', `/v1/runs/${id}/cancel`)).status).toBe(202);
    expect(await one.endedAtLast(id)).toMatchObject({ status: 'cancelled', error: null });
    const { numbers } = await moved(topic);
    expect(numbers).toBeLessThan(ALL);
    expect(await two.endedAtLast(await two.submit(run))).toMatchObject({ status: 'completed' });
    expect((await moved(topic)).numbers).toBe(ALL);
    expect(await committed(topic)).toBe(ALL);
  });
});
