/**
 * Deletes files of the ledger: only recorded paths, only files that a run created, and never one
 * that may be in use.
 */
import { rm, stat } from 'node:fs/promises';
import type { OutputQuery, OutputStore, StoredOutput } from '../../history/outputs.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import { codeOf } from '../../lib/files/file-fault.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import type {
  CleanupRequest,
  SkipReason,
  SweepReport,
  SweepScope,
  SweptOutput,
} from '../../wire/local-outputs.ts';
import { isExpired, isHere, isOlderThan } from './ledger.ts';
import { BYTES_DELETED, DELETED, SKIPPED, SWEEPS } from './metrics.ts';

export interface SweepServices {
  readonly store: OutputStore;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Of the server; 0 keeps files for ever. */
  readonly retentionDays: number;
  /** A file touched within this time is in use; 0 turns the rule off. */
  readonly graceSecs: number;
  readonly isRunning: (runId: string) => Promise<boolean>;
  /** Name of this machine, where servers of others use the same ledger. */
  readonly machine?: string | undefined;
}

interface Sweep {
  readonly scope: SweepScope;
  readonly dryRun: boolean;
  readonly outputs: readonly StoredOutput[];
}

export async function cleanUp(
  request: CleanupRequest,
  services: SweepServices,
): Promise<SweepReport> {
  const { store, clock, retentionDays, machine } = services;
  const now = clock.now();
  const { scope, query, meant } = selectionOf(
    request,
    (output) => isExpired(output, retentionDays, now),
    now,
  );
  const outputs = (await store.listOutputs({ ...query, include_deleted: false })).filter(
    (output) => meant(output) && isHere(output, machine),
  );
  return sweep({ scope, dryRun: request.dry_run, outputs }, services);
}

interface Selection {
  readonly scope: SweepScope;
  readonly query: Pick<OutputQuery, 'dataset_id' | 'run_id'>;
  readonly meant: (output: StoredOutput) => boolean;
}

function selectionOf(
  request: CleanupRequest,
  expired: (output: StoredOutput) => boolean,
  now: Date,
): Selection {
  const { older_than_days: days, dataset_id, run_id } = request;
  const any = (): boolean => true;
  if (days !== undefined)
    return { scope: 'older_than', query: {}, meant: (output) => isOlderThan(output, days, now) };
  if (dataset_id !== undefined) return { scope: 'dataset', query: { dataset_id }, meant: any };
  if (run_id !== undefined) return { scope: 'run', query: { run_id }, meant: any };
  return request.expired === true
    ? { scope: 'expired', query: {}, meant: expired }
    : { scope: 'all', query: {}, meant: any };
}

export async function sweep(
  { scope, dryRun, outputs }: Sweep,
  services: SweepServices,
): Promise<SweepReport> {
  const swept: SweptOutput[] = [];
  for (const output of outputs) swept.push(await sweepOne(output, dryRun, services));
  const gone = swept.filter((one) => one.deleted);
  const bytes = gone.reduce((sum, one) => sum + one.bytes, 0);
  if (!dryRun) measure({ scope, swept, bytes }, services);
  const [only] = swept;
  return {
    dry_run: dryRun,
    scope,
    deleted: gone.length,
    bytes,
    ...(scope === 'output' && only?.skipped !== undefined ? { skipped: only.skipped } : {}),
    skipped_count: swept.length - gone.length,
    outputs: swept,
  };
}

function measure(
  {
    scope,
    swept,
    bytes,
  }: { readonly scope: SweepScope; readonly swept: readonly SweptOutput[]; readonly bytes: number },
  { metrics }: SweepServices,
): void {
  metrics.inc(SWEEPS, { scope });
  metrics.inc(BYTES_DELETED, { scope }, bytes);
  for (const { skipped } of swept) {
    if (skipped === undefined) metrics.inc(DELETED, { scope });
    else metrics.inc(SKIPPED, { scope, reason: skipped });
  }
}

async function sweepOne(
  output: StoredOutput,
  dryRun: boolean,
  services: SweepServices,
): Promise<SweptOutput> {
  const { id, path, dataset_uri } = output;
  const kept = (skipped: SkipReason, error?: string): SweptOutput => ({
    id,
    path,
    dataset_uri,
    deleted: false,
    bytes: 0,
    skipped,
    ...(error === undefined ? {} : { error }),
  });
  if (output.deleted_at !== null) return kept('already_deleted');
  if (output.pre_existing) return kept('pre_existing');
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    if (!dryRun) await markDeleted(output, 0, services);
    return kept('not_on_disk');
  }
  if (await isInUse(output, found.mtimeMs, services)) return kept('in_flight');
  if (dryRun) return { id, path, dataset_uri, deleted: true, bytes: found.size };
  try {
    await rm(path);
  } catch (error) {
    // Another server that deletes it at the same time says so in the ledger.
    if (codeOf(error) === 'ENOENT') return kept('not_on_disk');
    return kept('delete_failed', messageOf(error));
  }
  await markDeleted(output, found.size, services);
  return { id, path, dataset_uri, deleted: true, bytes: found.size };
}

/** The age rule also covers a modification time in the future. */
async function isInUse(
  { run_id }: StoredOutput,
  mtimeMs: number,
  { clock, graceSecs, isRunning }: SweepServices,
): Promise<boolean> {
  if (graceSecs > 0 && clock.now().getTime() - mtimeMs < graceSecs * 1000) return true;
  return isRunning(run_id);
}

async function markDeleted(
  { id, last_written_at }: StoredOutput,
  bytes: number,
  { store, clock }: SweepServices,
): Promise<void> {
  await store.markDeleted(id, last_written_at, { at: clock.now().toISOString(), bytes });
}
