/** The first rows of a file that a sink wrote, through the source of the same kind. */
import { lstat } from 'node:fs/promises';
import type { StoredOutput } from '../../history/outputs.ts';
import type { Env } from '../../lib/env.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { Jobs } from '../../runs/service/jobs.ts';
import type { OutputPreview } from '../../wire/local-outputs.ts';
import { stateOf } from './ledger.ts';
import { previewJob } from './preview-job.ts';
import type { PreviewedRecords } from './read-first.ts';

/** Both null: no bound. */
export interface PreviewLimits {
  /** Whether rows are shown at all. */
  readonly enabled: boolean;
  readonly defaultRows: number | null;
  readonly maxRows: number | null;
}

export interface PreviewServices {
  readonly env: Pick<Env, 'clock'>;
  readonly jobs: Jobs;
  /** Fires when the caller no longer waits. */
  readonly signal: AbortSignal;
  readonly limits: PreviewLimits;
}

/** A preview whose records are JSON texts of some records each, with a comma between them. */
export type ShownOutput = Omit<OutputPreview, 'rows'> & Pick<PreviewedRecords, 'rows'>;

/**
 * What `row_count_to_load` asks for, within the ceiling; null: everything. Throws `RefusedError`.
 */
export function rowLimitOf(
  asked: string | undefined,
  { defaultRows, maxRows }: Omit<PreviewLimits, 'enabled'>,
): number | null {
  if (asked === undefined) return least(defaultRows, maxRows);
  if (/^all$/i.test(asked) || /^0+$/.test(asked)) return maxRows;
  if (/^\d+$/.test(asked)) return least(Math.min(Number(asked), Number.MAX_SAFE_INTEGER), maxRows);
  throw new RefusedError(
    'bad_config',
    `row_count_to_load must be a whole number or \`all\`, got ${JSON.stringify(asked)}`,
  );
}

function least(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** Throws `RefusedError` with the status the specification names for each case. */
export async function previewOutput(
  output: StoredOutput,
  rowLimit: number | null,
  services: PreviewServices,
): Promise<ShownOutput> {
  const { id, path, kind, dataset_id, pipeline, run_id } = output;
  if (output.deleted_at !== null || !(await isThere(path))) {
    throw new RefusedError(
      'conflict',
      `${path} is gone: it was collected or removed; the record of its run is kept`,
    );
  }
  if (stateOf(output) === 'external') {
    throw new RefusedError(
      'forbidden',
      `${path} was there before the service wrote to it, so it is not shown`,
    );
  }
  const { clock } = services.env;
  const started = clock.elapsedMs();
  const request = { kind: 'preview' as const, path, file_kind: kind, row_limit: rowLimit };
  const read = await services.jobs.run(previewJob, request, { signal: services.signal });
  return {
    output_id: id,
    path,
    kind,
    dataset_id,
    pipeline,
    run_id,
    rows: read.rows,
    columns: [...read.columns],
    row_count: read.count,
    row_limit: rowLimit,
    max_rows: services.limits.maxRows,
    truncated: read.cappedBy !== undefined,
    ...(read.cappedBy === undefined ? {} : { capped_by: read.cappedBy }),
    elapsed_ms: Math.round(clock.elapsedMs() - started),
  };
}

async function isThere(path: string): Promise<boolean> {
  // A link in its place is not what the run wrote.
  return lstat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
