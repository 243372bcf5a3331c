import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { testEnv } from '../../../test/fakes/env.ts';
import { FakeClock, rest } from '../../../test/support/runs.ts';
import { createPreflight } from '../../features/doctor/doctor-service.ts';
import type { Job, JobEnd, StopCause } from '../../wire/job.ts';
import { defineJob, type JobLimits } from '../worker/define-job.ts';
import type { HearEvent, JobExecutor } from '../worker/executor.ts';
import { createJobs, JobOverdue } from './jobs.ts';

interface Started {
  readonly job: Job;
  readonly hear: HearEvent;
  readonly end: (end: JobEnd) => void;
  readonly stops: { readonly why: StopCause; readonly graceMs: number }[];
  /** Jobs behind it are given to others. */
  hasGivenWay: boolean;
}

const LIMITS: JobLimits = {
  atOnce: 1,
  waiting: 1,
  limitMs: 5000,
  countsFrom: 'begin',
  graceMs: 70,
};
const CRASH: JobEnd = { type: 'crashed', reason: 'it was killed', why: 'died' };

function world(limits: Partial<JobLimits> = {}) {
  const clock = new FakeClock();
  const started: Started[] = [];
  const executor: JobExecutor = {
    start: (job, hear) => {
      const done = Promise.withResolvers<JobEnd>();
      const stops: Started['stops'] = [];
      const one = { job, hear, end: done.resolve, stops, hasGivenWay: false };
      started.push(one);
      hear({ kind: 'begun' });
      return {
        done: done.promise,
        stop: (why, graceMs) => void stops.push({ why, graceMs }),
        giveWay: () => void (one.hasGivenWay = true),
        answerOwner: () => {},
      };
    },
    close: () => Promise.resolve(),
  };
  const jobs = createJobs({
    env: testEnv({ clock }),
    applyMetrics: () => {},
    executor,
  });
  const definition = defineJob({
    kind: 'preview',
    word: 'preview',
    request: z.any(),
    limits: { ...LIMITS, ...limits },
    execute: () => Promise.resolve('never called'),
  });
  const run = (signal = new AbortController().signal): Promise<string> => {
    const request = { kind: 'preview', path: 'p', file_kind: 'csv', row_limit: null } as const;
    const answer = jobs.run(definition, request, { signal });
    answer.catch(() => {});
    return answer;
  };
  return { clock, started, run, jobs };
}

const finish = (one: Started | undefined, answer: unknown): void =>
  one?.end({ type: 'finished', answer });

describe('a job', () => {
  it('waits for its place, and is refused when too many wait', async () => {
    const { started, run } = world();
    const first = run();
    const second = run();
    await rest();
    await expect(run()).rejects.toMatchObject({
      code: 'queue_full',
      message: '1 previews are under way',
    });
    expect(started).toHaveLength(1);
    finish(started[0], 'one');
    expect(await first).toBe('one');
    await rest();
    finish(started[1], 'two');
    expect(await second).toBe('two');
  });

  it('leaves the line when its caller is gone', async () => {
    const { started, run } = world();
    const first = run();
    const gone = new AbortController();
    const second = run(gone.signal);
    gone.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    finish(started[0], 'one');
    await first;
    await rest();
    expect(started).toHaveLength(1);
  });

  it('that takes too long is ended by force, and says so', async () => {
    const { clock, started, run } = world({ overdue: 'unprocessable' });
    const answer = run();
    await clock.advance(4999);
    expect(started[0]?.stops).toEqual([]);
    await clock.advance(1);
    expect(started[0]?.stops).toEqual([{ why: 'timeout', graceMs: 70 }]);
    started[0]?.end({ ...CRASH, why: 'stopped' });
    await expect(answer).rejects.toBeInstanceOf(JobOverdue);
    await expect(answer).rejects.toMatchObject({
      code: 'unprocessable',
      message: 'the preview did not come to an end within 5 s',
    });
  });

  it('that is slow gives its place to the next, and a few of them do not hold up the others', async () => {
    const { clock, started, run } = world({ slowAfterMs: 100, slowAtOnce: 1, waiting: 9 });
    const answers = [run(), run(), run()];
    await clock.advance(99);
    expect(started.map(({ hasGivenWay }) => hasGivenWay)).toEqual([false]);
    await clock.advance(1);
    expect(started.map(({ hasGivenWay }) => hasGivenWay)).toEqual([true, false]);
    await clock.advance(1000);
    expect(started).toHaveLength(2);
    finish(started[1], 'two');
    await rest();
    expect(started).toHaveLength(3);
    finish(started[0], 'one');
    finish(started[2], 'three');
    expect(await Promise.all(answers)).toEqual(['one', 'two', 'three']);
  });

  it('whose worker is lost is done once more where it changes nothing', async () => {
    const { started, run } = world({ isRepeatable: true });
    const answer = run();
    await rest();
    started[0]?.end(CRASH);
    await rest();
    finish(started[1], 'again');
    expect(await answer).toBe('again');

    const other = world();
    const lost = other.run();
    await rest();
    other.started[0]?.end(CRASH);
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
    expect(other.started).toHaveLength(1);
  });
});

describe('a preflight whose probe hangs', () => {
  it('reports what is known, and the parts that did not answer as failed', async () => {
    const { clock, started, jobs } = world();
    const preflight = createPreflight({ jobs, probeTimeoutMs: 3000 });
    const document = { config: '', config_format: 'yaml', name: null, base: null } as const;
    const report = preflight(document, new AbortController().signal);
    await rest();
    const pass = { role: 'source', connector: 'csv', name: 'read', status: 'pass' } as const;
    const source = { ...pass, elapsed_ms: 1 };
    const probed = (event: object): void =>
      started[0]?.hear({ kind: 'probed', event: event as never });
    probed({ type: 'checked', row: { id: 'a', probes: [source] } });
    const checking = { type: 'checking', id: 'b', role: 'sink', connector: 'sqlite' };
    probed({ ...checking, before: [source] });
    await clock.advance(5000);
    expect(started[0]?.stops).toEqual([{ why: 'timeout', graceMs: 0 }]);
    started[0]?.end({ ...CRASH, why: 'stopped' });
    expect(await report).toEqual({
      invocations: [
        { id: 'a', probes: [source] },
        {
          id: 'b',
          probes: [
            source,
            {
              role: 'sink',
              connector: 'sqlite',
              name: 'timeout',
              status: 'fail',
              reason: 'no answer within 3 s; its process was ended',
              elapsed_ms: 3000,
            },
          ],
        },
      ],
    });
  });
});
