/** Counts the dead letters of a queue and shows the first ones. */
import type { DeadReason } from '../../wire/dead-reasons.ts';
import type { Inspection } from '../../wire/dlq.ts';
import { causeOf, type Cause } from './cause.ts';
import { isWanted, letterIdOf, linesOf, type LetterLine } from './dead-letters.ts';
import { locate } from './location.ts';

export interface InspectRequest {
  readonly location: string;
  readonly reason?: DeadReason | undefined;
  /** The id of a cause. */
  readonly cause?: string | undefined;
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
  cause,
  limit,
  keys,
  cwd,
  signal,
}: InspectRequest): Promise<Inspection> {
  const { files } = await locate(location, { cwd, signal });
  const odd = { malformed: 0, non_envelope: 0, undecryptable: 0 };
  const reasons = new Map<string, number>();
  const kinds = new Map<string, number>();
  const causes = new Map<string, Counted>();
  const sample: Inspection['sample'] = [];
  let total = 0;
  for (const file of files) {
    for await (const line of linesOf(file, keys)) {
      signal?.throwIfAborted();
      if (line.kind === 'blank') continue;
      if (line.kind !== 'dead_letter') odd[line.kind] += 1;
      else if (isWanted(line, { reason, cause })) {
        total += 1;
        count(reasons, line.deadLetter.reason);
        count(kinds, line.deadLetter.errorKind);
        const why = causeOf(line.deadLetter);
        note(causes, why);
        if (sample.length < limit) sample.push(sampleOf(line, file, why));
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
    causes: [...causes.values()]
      .sort((one, other) => other.letters - one.letters)
      .map(({ cause: { id, reason: why, errorKind, message }, letters }) => ({
        id,
        reason: why,
        error_kind: errorKind,
        message,
        letters,
      })),
    sample,
  };
}

interface Counted {
  readonly cause: Cause;
  letters: number;
}

/** Counted by themselves, in the order in which they are met. */
const MOST_CAUSES = 200;

function note(causes: Map<string, Counted>, cause: Cause): void {
  const known = causes.get(cause.id);
  if (known !== undefined) known.letters += 1;
  else if (causes.size < MOST_CAUSES) causes.set(cause.id, { cause, letters: 1 });
}

function count(counts: Map<string, number>, name: string | null): void {
  const bucket = name ?? 'unknown';
  counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
}

function sorted(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function sampleOf(
  { deadLetter, bytes }: LetterLine,
  file: string,
  cause: Cause,
): Inspection['sample'][number] {
  const { reason, errorKind, errorMessage, pipeline, row, recordIndex, tsMs, payload } = deadLetter;
  return {
    id: letterIdOf(bytes),
    file,
    cause: cause.id,
    reason,
    error_kind: errorKind,
    error_message: errorMessage,
    pipeline,
    row,
    record_index: recordIndex,
    ts_ms: tsMs,
    payload,
  };
}
