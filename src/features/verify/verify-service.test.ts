import { describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { type ConfigError, RefusedError } from '../../lib/errors.ts';
import type { AuditEntry } from '../../wire/audit.ts';
import type { Job, JobEnd } from '../../wire/job.ts';
import { verifyRequestSchema, type VerifyReport } from '../../wire/verify.ts';
import type { JobExecutor } from '../../runs/worker/executor.ts';
import { createJobs } from '../../runs/service/jobs.ts';
import type { Caller } from '../../runs/service/runs.ts';
import { verifyJob } from './verify-job.ts';
import { createVerify, type Verify } from './verify-service.ts';

const CALLER: Caller = { principal: 'bob', role: 'operator' };

const REPORT: VerifyReport = {
  row: 'row-0',
  source: 'csv',
  destination: 'sqlite',
  key: ['id'],
  strategy: 'full',
  dry_run: false,
  ranges_compared: 0,
  ranges_differing: 0,
  server_digests: false,
  rows_fetched_source: 1,
  rows_fetched_dest: 0,
  differences: [],
  truncated: false,
};

const done = (report: VerifyReport): JobEnd => ({ type: 'finished', answer: report });

interface World {
  readonly verify: Verify;
  readonly jobs: Job[];
  readonly audited: AuditEntry[];
  readonly stopped: string[];
}

function world(end: JobEnd | Promise<JobEnd>): World {
  const [jobs, audited, stopped] = [[] as Job[], [] as AuditEntry[], [] as string[]];
  const executor: JobExecutor = {
    start: (job) => {
      jobs.push(job);
      const stop = (why: string): void => void stopped.push(why);
      return { done: Promise.resolve(end), stop, giveWay: () => {}, answerOwner: () => {} };
    },
    close: () => Promise.resolve(),
  };
  const verify = createVerify({
    jobs: createJobs({
      env: testEnv(),
      executor,
      applyMetrics: () => {},
    }),
    audit: {
      record: (entry) => {
        audited.push(entry);
        return Promise.resolve();
      },
    },
  });
  return { verify, jobs, audited, stopped };
}

function ask(
  verify: Verify,
  body: Record<string, unknown> = {},
  signal = new AbortController().signal,
): Promise<VerifyReport> {
  return verify({
    request: verifyRequestSchema.parse({ config: 'version: 1', ...body }),
    caller: CALLER,
    signal,
  });
}

describe('a comparison over HTTP', () => {
  it('is made by a worker as it was asked for, and audited with what came out', async () => {
    const equal = world(done(REPORT));
    const asked = { row: 'a', repair: true, allow_delete: true, dry_run: true, max_differences: 7 };
    expect(await ask(equal.verify, asked)).toEqual(REPORT);
    const document = { config: 'version: 1', config_format: 'yaml', name: null, base: null };
    expect(equal.jobs[0]?.request).toEqual({ kind: 'verify', document, ...asked });
    expect(verifyJob.request.safeParse(equal.jobs[0]?.request).success).toBe(true);
    expect(equal.audited).toEqual([
      { principal: 'bob', role: 'operator', action: 'verify', result: 'equal' },
    ]);
    const different = world(
      done({ ...REPORT, differences: [{ key: { id: 1 }, kind: 'missing_in_dest' }] }),
    );
    await ask(different.verify);
    expect(different.audited[0]?.result).toBe('different');
  });

  it('is refused where it cannot be made: 400 by what the document says, 503 by a store that does not answer', async () => {
    const failed = (code: string, kind: 'Custom' | 'Source') => {
      const error = { code, kind, message: 'no', hint: 'do' };
      return ask(world({ type: 'refused', fault: { family: 'other', error } }).verify);
    };
    await expect(failed('bad_config', 'Custom')).rejects.toMatchObject({
      code: 'bad_config',
      message: 'no',
      hint: 'do',
    });
    await expect(failed('connector_missing', 'Source')).rejects.toMatchObject({
      code: 'bad_config',
    });
    await expect(failed('connector_connection', 'Source')).rejects.toMatchObject({
      code: 'unavailable',
    });
    await expect(
      ask(world({ type: 'crashed', reason: 'it was killed', why: 'died' }).verify),
    ).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('answers 400 for a document whose rows cannot be verified, and 422 for one that is not valid', async () => {
    const stageOf = async (code: string): Promise<unknown> => {
      const issues = [{ code, path: 'verify', message: 'no' }];
      const fault = { family: 'config', issues, stage: 'validate' } as const;
      const { verify } = world({ type: 'refused', fault });
      return ask(verify).catch((error: ConfigError) => error.stage);
    };
    expect([await stageOf('verify_impossible'), await stageOf('unknown_key')]).toEqual([
      'parse',
      'validate',
    ]);
  });

  it('is one of few at the same time, and stops when its client is gone', async () => {
    const end = Promise.withResolvers<JobEnd>();
    const busy = world(end.promise);
    const gone = new AbortController();
    const others = [1, 2, 3].map(() => ask(busy.verify));
    const first = ask(busy.verify, {}, gone.signal);
    const refused = ask(busy.verify);
    await expect(refused).rejects.toBeInstanceOf(RefusedError);
    await expect(refused).rejects.toMatchObject({
      code: 'queue_full',
      message: '4 comparisons are under way',
    });
    gone.abort();
    end.resolve(done(REPORT));
    await Promise.all([first, ...others]);
    expect(busy.stopped).toEqual(['cancel']);
    await expect(ask(busy.verify)).resolves.toEqual(REPORT);
  });
});
