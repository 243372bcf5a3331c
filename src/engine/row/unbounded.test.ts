import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ConnectorError, StopReason } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { Page } from '../../kit/page.ts';
import type { Source, SourceDefinition } from '../../kit/source.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import {
  memoryLog,
  queueFixture,
  queueOf,
  type QueueConfig,
} from '../../../test/conformance/reference/memory-queue.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  fakeSink,
  fakeState,
  noParts,
  part,
  planOf,
  plannedRow,
  type Trace,
} from '../../../test/fakes/plan.ts';
import { execute } from '../execute.ts';
import { eventually } from '../../../test/support/eventually.ts';

interface Running {
  readonly config: JsonObject;
  readonly queue: ReturnType<typeof queueOf>;
  readonly trace: Trace;
  readonly written: readonly JsonValue[];
  stop(): Promise<RunOutcome>;
  readonly outcome: Promise<RunOutcome>;
}

/** Runs a row that reads the queue until it is stopped. */
async function start(
  values: Map<string, JsonValue>,
  { config, change }: { config?: JsonObject; change?: (sound: Source) => Partial<Source> } = {},
): Promise<Running> {
  const given: JsonObject = {
    ...(config ?? (await queueFixture.upstream?.fresh())),
    batch_size: 10,
  };
  const trace: Trace = [];
  const source: SourceDefinition<QueueConfig> = {
    ...memoryLog,
    open: async (value, context) => {
      const sound = await memoryLog.open(value, context);
      return { ...sound, ...change?.(sound) };
    },
  };
  const sink = fakeSink({ trace });
  const row = {
    ...plannedRow(source, sink.definition, { state: part(fakeState(values, trace)) }),
    source: part(source, given),
  };
  const stop = new AbortController();
  const outcome = execute({
    plan: planOf([row]),
    parts: noParts,
    env: testEnv(),
    runId: 'run-1',
    clock: new Date(),
    signal: stop.signal,
  });
  return {
    config: given,
    queue: queueOf(given['name']),
    trace,
    written: sink.records,
    outcome,
    stop: () => {
      stop.abort(new StopReason('cancel', 'stopped by the test'));
      return outcome;
    },
  };
}

const records = (from: number, to: number): JsonObject[] =>
  Array.from({ length: to - from }, (_, index) => ({ id: from + index }));

/** Pages as they come, without what says where they stand. */
async function* unmarked(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
  for await (const page of pages) yield Page.ofRecords(page.records());
}

describe('a row whose source waits for records', () => {
  it('moves what arrives, acknowledges it once it is stored, and goes on from there', async () => {
    const values = new Map<string, JsonValue>();
    const first = await start(values);
    first.queue.records.push(...records(0, 4));
    await eventually(() => expect(first.queue.acknowledged).toBe(4));
    first.queue.records.push(...records(4, 6));
    await eventually(() => expect(first.queue.acknowledged).toBe(6));
    expect(await first.stop()).toMatchObject({ status: 'cancelled', records_written: 6 });
    expect(values.get('test::row-0')).toEqual({ at: 6 });
    const second = await start(values, { config: first.config });
    second.queue.records.push(...records(6, 7));
    await eventually(() => expect(second.queue.acknowledged).toBe(7));
    await second.stop();
    expect([...first.written, ...second.written]).toEqual(records(0, 7));
  });

  it('flushes what waits for a bookmark while nothing comes, and stores no position', async () => {
    const values = new Map<string, JsonValue>();
    const running = await start(values, {
      change: (sound) => ({ pages: (request) => unmarked(sound.pages(request)) }),
    });
    running.queue.records.push(...records(0, 3));
    await eventually(() => expect(running.trace).toEqual(['write 3', 'flush']));
    // A second silence has nothing to flush.
    await sleep(100);
    expect(running.trace).toEqual(['write 3', 'flush']);
    await running.stop();
    expect(values.size).toBe(0);
  });

  it('sends heartbeats while it waits', async () => {
    const running = await start(new Map());
    await eventually(() => expect(running.queue.heartbeats).toBeGreaterThan(2));
    expect(await running.stop()).toMatchObject({ status: 'cancelled' });
    const { heartbeats } = running.queue;
    await sleep(50);
    expect(running.queue.heartbeats).toBe(heartbeats);
  });

  it('fails when a heartbeat does', async () => {
    const lost = new ConnectorError('connection', 'the session has ended');
    const running = await start(new Map(), {
      change: () => ({ heartbeat: () => Promise.reject(lost) }),
    });
    expect(await running.outcome).toMatchObject({
      status: 'failed',
      error: { kind: 'Source', message: expect.stringContaining('the session has ended') },
    });
  });
});
