/** Servers that are frozen in the middle of a run that commits to Kafka exactly once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Producer } from '@platformatic/kafka';
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
import { valuesIn } from '../conformance/fixtures/sinks/kafka.ts';
import { childrenOf, workshop, type Program } from '../e2e/serve-program.ts';
import { eventually } from '../support/eventually.ts';
import { whoIs } from './servers.ts';
import { WatchedDatabase } from './watched-database.ts';

const NUMBERS = Array.from({ length: 3000 }, (_, n) => n + 1);
const PAGE_RECORDS = 10;
const LONG_WAIT = { timeout: 90_000, interval: 25 };
/** After the run has begun: each finds its page at another step. */
const FROZEN_AFTER_MS = [150, 270, 390];

describe.skipIf(missing !== undefined)(`pages for Kafka ${missing ?? ''}`, () => {
  const shop = workshop();
  let database: WatchedDatabase;
  let servers: Program[];

  beforeAll(async () => {
    database = await WatchedDatabase.open();
    const args = ['--history', database.url, '--cluster', '--max-concurrent-runs', '2'];
    await start();
    servers = await Promise.all([shop.start({ args }), shop.start({ args })]);
    await database.watchRuns();
  }, 120_000);
  afterAll(async () => {
    await shop.dispose();
    await stop();
    await database.close();
  });

  function signalAll({ process: { pid = 0 } }: Program, signal: NodeJS.Signals): void {
    for (const one of [pid, ...childrenOf(pid)])
      try {
        process.kill(one, signal);
      } catch {
        // It has ended.
      }
  }

  /** A topic of numbers, and a run that moves it in small pages. */
  async function filled(name: string, topic: string) {
    const origin = await makeTopic(unique('origin'));
    const producer = new Producer({ ...client(), retries: 50, idempotent: true });
    await producer.send({
      messages: NUMBERS.map((n) => ({ topic: origin, partition: 0, value: Buffer.from(`${n}`) })),
    });
    await producer.close();
    const source = {
      brokers: brokers(),
      topics: [origin],
      group_id: origin,
      auto_offset_reset: 'earliest',
      idle_timeout: 3,
      poll_timeout: 0.2,
      batch_size: PAGE_RECORDS,
    };
    const sink = {
      brokers: brokers(),
      topic: { type: 'fixed', name: topic },
      commit_token_topic: `${topic}-tokens`,
      transactional_id_prefix: topic,
    };
    return {
      version: 1,
      name,
      delivery: 'exactly_once',
      pipeline: {
        source: { type: 'kafka', config: source },
        transforms: [{ type: 'select', config: { fields: ['value'] } }],
        sink: { type: 'kafka', config: sink },
        state: { type: 'postgres', config: { url: database.url, table: 'state' } },
      },
    };
  }

  const executionsOf = async (id: string) =>
    (await database.seen(id)).filter(({ status }) => status === 'running');

  test.each(FROZEN_AFTER_MS)(
    'hold each record once when their server is frozen after %d ms, and wakes when another has the run',
    { timeout: 180_000 },
    async (afterMs) => {
      const name = `kafka_${afterMs}`;
      const topic = await makeTopic(unique('frozen'));
      const [first] = servers;
      const id = (await first?.submit(await filled(name, topic))) ?? '';
      const begun = await eventually(async () => {
        const executions = await executionsOf(id);
        expect(executions).toHaveLength(1);
        return executions;
      }, LONG_WAIT);
      const { holder, others } = await whoIs(servers, begun[0]?.owner ?? '');
      await sleep(afterMs);
      signalAll(holder, 'SIGSTOP');
      const frozen = (await valuesIn(topic)).length;
      expect(frozen, 'the run was over before it was frozen').toBeLessThan(NUMBERS.length);
      await eventually(async () => {
        expect((await executionsOf(id)).at(-1)).toMatchObject({ attempt: 1 });
      }, LONG_WAIT);
      signalAll(holder, 'SIGCONT');
      const record = await others[0]?.endedAtLast(id);
      expect(record).toMatchObject({ status: 'completed', attempt: 1, error: null });
      // What the frozen one had begun would be there by now.
      await sleep(1000);
      const numbers = (await valuesIn(topic)).map((row) => Number(row['value']));
      expect(numbers.toSorted((a, b) => a - b)).toEqual(NUMBERS);
      await database.expectSoundRuns();
    },
  );
});
