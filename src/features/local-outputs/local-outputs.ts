/**
 * Files that sinks wrote on the machine of the server: recorded, listed, previewed and deleted.
 */
import type { StoredOutput } from '../../history/outputs.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import type { Jobs } from '../../runs/service/jobs.ts';
import type { CleanupRequest, OutputRecord, SweepReport } from '../../wire/local-outputs.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { expiryOf, isHere, presented, writtenBy } from './ledger.ts';
import { previewOutput, rowLimitOf, type PreviewLimits, type ShownOutput } from './preview.ts';
import { cleanUp, sweep, type SweepServices } from './sweep.ts';

export interface LocalOutputOptions extends Omit<SweepServices, 'clock' | 'metrics'> {
  readonly env: Env;
  readonly jobs: Jobs;
  readonly preview: PreviewLimits;
}

export interface OutputFilter {
  readonly dataset_id?: string | undefined;
  readonly pipeline?: string | undefined;
  readonly include_expired: boolean;
  readonly limit: number;
}

export interface OutputOfRun extends Pick<StoredOutput, 'path' | 'row' | 'dataset_uri'> {
  readonly isHere: boolean;
  readonly isDeleted: boolean;
}

export interface LocalOutputs {
  readonly retentionDays: number;
  readonly preview: PreviewLimits;
  list(filter: OutputFilter): Promise<OutputRecord[]>;
  /** What a run wrote last, newest write first, and whether it lies on the machine of this server. */
  ofRun(runId: string): Promise<readonly OutputOfRun[]>;
  /** Rejects with `RefusedError` for an unknown id. */
  remove(id: string): Promise<SweepReport>;
  cleanUp(request: CleanupRequest): Promise<SweepReport>;
  /** Rejects with `RefusedError`. */
  show(id: string, rowCountToLoad: string | undefined, signal: AbortSignal): Promise<ShownOutput>;
}

const MOST_OF_RUN = 2000;
/** How often expired files are looked for. */
const SWEEP_EVERY_MS = 3_600_000;

export function createLocalOutputs(options: LocalOutputOptions): LocalOutputs {
  const { env, store, retentionDays, preview } = options;
  const services: SweepServices = { ...options, clock: env.clock, metrics: env.metrics };
  return {
    retentionDays,
    preview,
    list: async ({ include_expired, limit, dataset_id, pipeline }) => {
      const filter = {
        ...(dataset_id === undefined ? {} : { dataset_id }),
        ...(pipeline === undefined ? {} : { pipeline }),
      };
      const outputs = await store.listOutputs({
        ...filter,
        include_deleted: include_expired,
        limit,
      });
      return outputs.map((output) => presented(output, retentionDays, env.clock.now()));
    },
    ofRun: async (run_id) => {
      const outputs = await store.listOutputs({
        run_id,
        include_deleted: true,
        limit: MOST_OF_RUN,
      });
      return outputs.map((output) => ({
        path: output.path,
        row: output.row,
        dataset_uri: output.dataset_uri,
        isHere: isHere(output, options.machine),
        isDeleted: output.deleted_at !== null,
      }));
    },
    remove: async (id) =>
      sweep({ scope: 'output', dryRun: false, outputs: [await find(id, options)] }, services),
    cleanUp: (request) => cleanUp(request, services),
    show: async (id, asked, signal) => {
      if (!preview.enabled) {
        throw new RefusedError(
          'forbidden',
          'previews are disabled: the server was started without --preview-local-outputs',
        );
      }
      const output = await find(id, options);
      return previewOutput(output, rowLimitOf(asked, preview), {
        env,
        jobs: options.jobs,
        limits: preview,
        signal,
      });
    },
  };
}

async function find(
  id: string,
  { store, machine }: Pick<LocalOutputOptions, 'store' | 'machine'>,
): Promise<StoredOutput> {
  const [output] = await store.listOutputs({ ids: [id], include_deleted: true, limit: 1 });
  if (output === undefined) throw new RefusedError('not_found', 'there is no such output');
  if (!isHere(output, machine))
    throw new RefusedError('conflict', 'the file lies on the machine of another server', {
      hint: 'ask the server that executed the run',
    });
  return output;
}

/** Deletes expired files, now and then every hour. */
export async function keepCollecting(
  outputs: LocalOutputs,
  env: Pick<Env, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { deleted, bytes } = await outputs.cleanUp({
        expired: true,
        dry_run: false,
        confirm: false,
      });
      if (deleted > 0) env.log.info('expired output files were deleted', { files: deleted, bytes });
    } catch (error) {
      env.log.warn('expired output files could not be collected', { error: messageOf(error) });
    }
    await env.clock.sleep(SWEEP_EVERY_MS, signal);
  }
}

/**
 * When the first file that an invocation made is deleted, by the id of the invocation; a file of
 * somebody else that it continued never is.
 */
export function outputExpiries(
  outcome: RunOutcome,
  retentionDays: number,
): ReadonlyMap<string, string> {
  if (outcome.local_outputs?.track === false) return new Map();
  return new Map(
    outcome.invocations.flatMap((invocation) => {
      const [first] = writtenBy('', { ...outcome, invocations: [invocation] })
        .flatMap((output) => expiryOf(output, retentionDays) ?? [])
        .sort((one, other) => one.getTime() - other.getTime());
      return first === undefined ? [] : [[invocation.invocation_id, first.toISOString()] as const];
    }),
  );
}
