/** Entries of the ledger: the files that a run wrote, and their state. */
import { hash } from 'node:crypto';
import { datasetId } from '../../engine/observe/canonical-uri.ts';
import type { StoredOutput } from '../../history/outputs.ts';
import type { OutputRecord, OutputState } from '../../wire/local-outputs.ts';
import type { OutputNews } from '../../wire/outcome.ts';

const DAY_MS = 86_400_000;

/** Servers of several machines may share a ledger: the same path is another file on each of them. */
function outputId(path: string, machine: string | undefined): string {
  return hash('sha256', machine === undefined ? path : `${machine}\n${path}`).slice(0, 16);
}

/** Whether the file is one of this machine, which has a name where others use the same ledger. */
export function isHere({ id, path }: StoredOutput, machine: string | undefined): boolean {
  return machine === undefined || id === outputId(path, machine);
}

/** A file that several rows wrote is listed once, as the last of them left it. */
export function writtenBy(
  runId: string,
  { pipeline, invocations, local_outputs: said }: OutputNews,
  machine?: string,
): StoredOutput[] {
  const written = new Map<string, StoredOutput>();
  for (const { row_id: row, sink: kind, outputs, started_at, finished_at } of invocations) {
    if (outputs === undefined) continue;
    const uri = { dataset_uri: outputs.dataset_uri, dataset_id: datasetId(outputs.dataset_uri) };
    for (const { path, before } of outputs.files) {
      const known = written.get(path);
      written.set(path, {
        id: outputId(path, machine),
        path,
        ...uri,
        kind,
        pipeline,
        row,
        run_id: runId,
        pre_existing: known?.pre_existing ?? before !== 'nothing',
        replaced: known?.replaced === true || before === 'replaced',
        retention_days: said?.retention_days ?? null,
        first_written_at: known?.first_written_at ?? started_at,
        last_written_at: finished_at,
        deleted_at: null,
        deleted_bytes: null,
      });
    }
  }
  return [...written.values()];
}

export function stateOf({ deleted_at, pre_existing, replaced }: StoredOutput): OutputState {
  if (deleted_at !== null) return 'expired';
  if (!pre_existing) return 'present';
  return replaced ? 'replaced' : 'external';
}

/** Days after the last write; null: never. */
export function retentionOf(
  { retention_days: own }: StoredOutput,
  ofServer: number,
): number | null {
  return (own ?? ofServer) || null;
}

/** From when on it may be deleted; files that a run did not make are never deleted. */
export function expiryOf(output: StoredOutput, ofServer: number): Date | undefined {
  const days = retentionOf(output, ofServer);
  if (days === null || output.pre_existing) return undefined;
  return new Date(Date.parse(output.last_written_at) + days * DAY_MS);
}

export function ageMs({ last_written_at: at }: StoredOutput, now: Date): number {
  return Math.max(0, now.getTime() - Date.parse(at));
}

export function isExpired(output: StoredOutput, ofServer: number, now: Date): boolean {
  const days = retentionOf(output, ofServer);
  return days !== null && isOlderThan(output, days, now);
}

export function isOlderThan(output: StoredOutput, days: number, now: Date): boolean {
  return ageMs(output, now) >= days * DAY_MS;
}

export function presented(output: StoredOutput, ofServer: number, now: Date): OutputRecord {
  const { replaced: _replaced, retention_days: own, deleted_at, deleted_bytes, ...rest } = output;
  return {
    ...rest,
    ...(own === null ? {} : { retention_days: own }),
    retention_days_effective: retentionOf(output, ofServer),
    expires_at: expiryOf(output, ofServer)?.toISOString() ?? null,
    ...(deleted_at === null ? {} : { deleted_at }),
    ...(deleted_bytes === null ? {} : { deleted_bytes }),
    state: stateOf(output),
    age_secs: Math.floor(ageMs(output, now) / 1000),
  };
}
