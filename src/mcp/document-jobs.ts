/** What agents do with a document that is not submitted: look at its first records, and try it. */
import { RefusedError } from '../lib/errors.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { openDocument } from '../runs/planning/open-document.ts';
import { defineJob } from '../runs/worker/define-job.ts';
import { dryRunJobSchema, sampleJobSchema } from '../wire/job.ts';
import type { RunOutcome } from '../wire/outcome.ts';
import type { RanRows } from './define-tool.ts';

export interface Sample {
  readonly row: string;
  readonly count: number;
  readonly records: readonly JsonValue[];
}

const LIMITS = {
  atOnce: 2,
  waiting: 16,
  countsFrom: 'begin',
  graceMs: 1000,
  overdue: 'unprocessable',
} as const;

/** The first records of the first row that has no parent. */
export const sampleJob = defineJob({
  kind: 'sample',
  word: 'preview',
  request: sampleJobSchema,
  limits: { ...LIMITS, limitMs: 60_000, isRepeatable: true },
  execute: async ({ document, limit }, context): Promise<Sample> => {
    const plan = await openDocument(document, context);
    const { parts, env, signal } = context;
    if (plan.topology !== undefined)
      throw new RefusedError('unprocessable', 'the records of a graph of nodes cannot be shown', {
        hint: 'try it with `run_pipeline` and `dry_run`',
      });
    const row = plan.rows.find(({ role }) => role === 'root');
    if (row === undefined)
      throw new RefusedError('unprocessable', 'every row needs the records of a parent');
    const { preview } = await import('../engine/preview/preview.ts');
    const records: JsonValue[] = [];
    const clock = env.clock.now();
    for await (const record of preview({ plan, parts, env, row, limit, clock, signal }))
      records.push(record);
    return { row: row.id, count: records.length, records };
  },
});

/** Reads and checks everything, and writes nothing. */
export const dryRunJob = defineJob({
  kind: 'dry_run',
  word: 'dry run',
  request: dryRunJobSchema,
  limits: { ...LIMITS, limitMs: 600_000 },
  execute: async ({ document, clock }, context): Promise<RanRows> => {
    const plan = await openDocument(document, context);
    const { parts, env, signal, threads } = context;
    const { execute } = await import('../engine/execute.ts');
    const outcome = await execute({
      plan,
      parts,
      env,
      runId: env.ids.next(),
      clock: new Date(clock),
      signal,
      threads,
      dryRun: true,
    });
    return rowsOf(outcome);
  },
});

export function rowsOf({ error, ...ended }: RunOutcome): RanRows {
  return countedRows({ ...ended, error: error?.message ?? null });
}

/** Of an outcome or of the record of a run. */
export function countedRows({
  status,
  invocations,
  records_written,
  error,
}: {
  readonly status: RanRows['status'];
  readonly invocations: readonly { readonly status: string }[];
  readonly records_written: number;
  readonly error: string | null;
}): RanRows {
  const countOf = (wanted: string): number =>
    invocations.filter((one) => one.status === wanted).length;
  return {
    status,
    invocations: invocations.length,
    ok: countOf('completed'),
    failed: countOf('failed'),
    records_written,
    ...(error === null ? {} : { error }),
  };
}
