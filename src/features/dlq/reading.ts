/** Reads the dead letters of a replay and counts the lines that are skipped. */
import { RefusedError } from '../../lib/errors.ts';
import type { DeadReason } from '../../wire/dead-reasons.ts';
import type { ReplayReport } from '../../wire/dlq.ts';
import { isWanted, linesOf, type DeadLetter } from './dead-letters.ts';

export interface Wanted {
  readonly keys: readonly string[];
  readonly reason: DeadReason | undefined;
  /** Whether this is another row of the document: its records belong elsewhere. */
  readonly isOther: (row: string) => boolean;
}

export class Reading {
  readonly #files: readonly string[];
  readonly #wanted: Wanted;
  readonly #passedOver = { other_rows: 0, malformed: 0, non_envelope: 0, undecryptable: 0 };
  #readable = 0;
  #candidates = 0;

  constructor(files: readonly string[], wanted: Wanted) {
    this.#files = files;
    this.#wanted = wanted;
  }

  async *deadLetters(): AsyncGenerator<{ readonly deadLetter: DeadLetter; readonly size: number }> {
    const { keys, reason, isOther } = this.#wanted;
    for (const file of this.#files) {
      for await (const line of linesOf(file, keys)) {
        if (line.kind === 'blank') continue;
        if (line.kind !== 'dead_letter') {
          this.#passedOver[line.kind] += 1;
          continue;
        }
        this.#readable += 1;
        const { deadLetter, bytes } = line;
        if (!isWanted(deadLetter, { reason })) continue;
        if (deadLetter.row !== null && isOther(deadLetter.row)) {
          this.#passedOver.other_rows += 1;
          continue;
        }
        this.#candidates += 1;
        yield { deadLetter, size: bytes.length };
      }
    }
  }

  /**
   * Throws `RefusedError` when there are dead letters and no key opens any of them: nothing was
   * replayed.
   */
  report(result: Pick<ReplayReport, 'records_written' | 'failed_dlq' | 'dry_run'>): ReplayReport {
    const passed = this.#passedOver;
    assertOpened({ readable: this.#readable, undecryptable: passed.undecryptable });
    const isAny = Object.values(passed).some((lines) => lines > 0);
    return {
      candidates: this.#candidates,
      ...result,
      ...(isAny ? { passed_over: { ...passed } } : {}),
    };
  }
}

/** A queue that no key opens is not an empty one. Throws `RefusedError`. */
export function assertOpened({
  readable,
  undecryptable,
}: {
  readonly readable: number;
  readonly undecryptable: number;
}): void {
  if (readable > 0 || undecryptable === 0) return;
  throw new RefusedError(
    'bad_config',
    `no key opens the dead letters: ${undecryptable} sealed, and none readable`,
    {
      hint: 'name the key they were sealed with: `--key-env`, or `encryption_keys`',
    },
  );
}
