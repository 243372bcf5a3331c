/** Counts the dead letters of a queue and shows the first ones. */
import type { DeadReason } from '../../wire/dead-reasons.ts';
import type { Inspection } from '../../wire/dlq.ts';
import { isWanted, linesOf, type DeadLetter } from './dead-letters.ts';
import { locate } from './location.ts';

export interface InspectRequest {
  readonly location: string;
  readonly reason?: DeadReason | undefined;
  /** Dead letters to show; none with 0. */
  readonly limit: number;
  /** Keys of sealed queues, the current one first. */
  readonly keys: readonly string[];
  readonly cwd: string;
  /** Fires when the caller no longer waits. */
  readonly signal?: AbortSignal | undefined;
}

/** Throws `RefusedError` when there is nothing to read. */
export async function inspect({
  location,
  reason,
  limit,
  keys,
  cwd,
  signal,
}: InspectRequest): Promise<Inspection> {
  const { files } = await locate(location, { cwd, signal });
  const odd = { malformed: 0, non_envelope: 0, undecryptable: 0 };
  const reasons = new Map<string, number>();
  const kinds = new Map<string, number>();
  const sample: Inspection['sample'] = [];
  let total = 0;
  for (const file of files) {
    for await (const line of linesOf(file, keys)) {
      signal?.throwIfAborted();
      if (line.kind === 'blank') continue;
      if (line.kind !== 'dead_letter') odd[line.kind] += 1;
      else if (isWanted(line.deadLetter, { reason })) {
        total += 1;
        count(reasons, line.deadLetter.reason);
        count(kinds, line.deadLetter.errorKind);
        if (sample.length < limit) sample.push(sampleOf(line.deadLetter));
      }
    }
  }
  return {
    location,
    files_read: files.length,
    total_envelopes: total,
    ...odd,
    by_reason: sorted(reasons),
    by_error_kind: sorted(kinds),
    sample,
  };
}

function count(counts: Map<string, number>, name: string | null): void {
  const bucket = name ?? 'unknown';
  counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
}

function sorted(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function sampleOf({
  reason,
  errorKind,
  errorMessage,
  pipeline,
  row,
  recordIndex,
  payload,
}: DeadLetter): Inspection['sample'][number] {
  return {
    reason,
    error_kind: errorKind,
    error_message: errorMessage,
    pipeline,
    row,
    record_index: recordIndex,
    payload,
  };
}
