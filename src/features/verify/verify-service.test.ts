import { describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { ConfigError, RefusedError } from '../../lib/errors.ts';
import type { AuditEntry } from '../../wire/audit.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { verifyRequestSchema, type VerifyReport } from '../../wire/verify.ts';
import type { RunEnd, RunExecutor, RunTicket } from '../../runs/worker/executor.ts';
import type { Prepare, Prepared } from '../../runs/service/prepared.ts';
import type { Caller } from '../../runs/service/runs.ts';
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

function outcome(rest: Partial<RunOutcome>): RunEnd {
  const times = { started_at: '', finished_at: '' };
  return {
    type: 'finished',
    outcome: {
      pipeline: 'p',
      status: 'completed',
      ...times,
      records_written: 0,
      invocations: [],
      error: null,
      ...rest,
    },
  };
}

interface Desk {
  readonly verify: Verify;
  readonly tickets: RunTicket[];
  readonly audited: AuditEntry[];
  readonly stopped: string[];
}

function desk(end: RunEnd | Promise<RunEnd>, prepare?: Prepare): Desk {
  const [tickets, audited, stopped] = [[] as RunTicket[], [] as AuditEntry[], [] as string[]];
  const executor: RunExecutor = {
    start: (ticket) => {
      tickets.push(ticket);
      return { done: Promise.resolve(end), stop: (why) => void stopped.push(why) };
    },
    close: () => Promise.resolve(),
  };
  // Only what a ticket is made of.
  const prepared = { document: '{}', name: 'shop', isNamed: true } as Prepared;
  const verify = createVerify({
    env: testEnv(),
    executor,
    prepare: prepare ?? (() => Promise.resolve(prepared)),
    audit: {
      record: (entry) => {
        audited.push(entry);
        return Promise.resolve();
      },
    },
    applyMetrics: () => {},
    maxAtOnce: 1,
    stopGraceMs: 1000,
  });
  return { verify, tickets, audited, stopped };
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
    const equal = desk(outcome({ verification: REPORT }));
    expect(
      await ask(equal.verify, {
        row: 'a',
        repair: true,
        allow_delete: true,
        dry_run: true,
        max_differences: 7,
      }),
    ).toEqual(REPORT);
    expect(equal.tickets[0]?.verify).toEqual({
      row: 'a',
      repair: true,
      allowDelete: true,
      dryRun: true,
      maxDifferences: 7,
    });
    expect(equal.audited).toEqual([
      { principal: 'bob', role: 'operator', action: 'verify', result: 'equal' },
    ]);
    const different = desk(
      outcome({
        verification: { ...REPORT, differences: [{ key: { id: 1 }, kind: 'missing_in_dest' }] },
      }),
    );
    await ask(different.verify);
    expect(different.audited[0]?.result).toBe('different');
  });

  it('is refused where it cannot be made: 400 by what the document says, 503 by a store that does not answer', async () => {
    const failed = (code: string, kind: 'Custom' | 'Source') =>
      ask(
        desk(outcome({ status: 'failed', error: { code, kind, message: 'no', hint: 'do' } }))
          .verify,
      );
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
      ask(desk({ type: 'crashed', reason: 'it was killed' }).verify),
    ).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('answers 400 for a document whose rows cannot be verified, and 422 for one that is not valid', async () => {
    const stageOf = async (code: string): Promise<unknown> => {
      const refuse: Prepare = () =>
        Promise.reject(new ConfigError([{ code, path: 'verify', message: 'no' }]));
      return ask(desk(outcome({}), refuse).verify).catch((error: ConfigError) => error.stage);
    };
    expect([await stageOf('verify_impossible'), await stageOf('unknown_key')]).toEqual([
      'parse',
      'validate',
    ]);
  });

  it('is one of few at the same time, and stops when its client is gone', async () => {
    const end = Promise.withResolvers<RunEnd>();
    const busy = desk(end.promise);
    const gone = new AbortController();
    const first = ask(busy.verify, {}, gone.signal);
    await expect(ask(busy.verify)).rejects.toBeInstanceOf(RefusedError);
    gone.abort();
    end.resolve(outcome({ verification: REPORT }));
    await first;
    expect(busy.stopped).toEqual(['cancel']);
    await expect(ask(busy.verify)).resolves.toEqual(REPORT);
  });
});
