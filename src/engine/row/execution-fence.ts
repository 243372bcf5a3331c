/**
 * What an execution may write when other servers take runs over from one that they do not hear.
 *
 * 1. Where writes can be conditional, an execution first marks the place as its own: the lease of a
 *    state key, the scope of a watermark. Then it asks its server whether the run is still its own.
 *    Bookmarks, watermarks, service-level history and rollback log are stored only while the mark
 *    is there, in one step with looking at it, and a later execution replaces the mark. One that was
 *    frozen before it set its mark is therefore refused by its server, one that was frozen behind
 *    it, by the store. The same scope is marked for what ends a row as a whole, where the
 *    destination can look at it in the transaction of that change (`fenced`): the last step of an
 *    overwrite, removal of vanished records, the rollback log of the sink.
 * 2. Before anything else of consequence it asks again: dead letters, the end of any other output,
 *    and also before what the destination refuses. Pages of sinks without a watermark go by an
 *    answer that is `FRESH_MS` old at most. A process that is frozen between the answer and the
 *    write can still do that one write.
 * 3. Everything that the server itself writes for a run follows its end, which one execution alone
 *    can store (`runs/service/live-run.ts`).
 * 4. A replay of dead letters, a repair, the units of a backfill and the halves of a replication are
 *    no runs of a server: a lease says whose they are (`fenceOfLease`), and they ask its store before
 *    they write, as in 2.
 *
 * `test/cluster/model` walks through all interleavings of this.
 */
import { TAKEN_OVER } from '../../kit/execution.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { RunError } from '../../lib/errors.ts';

/** A page is moved in less; an answer must not outlive the run's next owner. */
const FRESH_MS = 250;

export class ExecutionFence {
  /** How often servers that share the run have begun it, this time included; absent for what is no run. */
  readonly claim: number | undefined;
  readonly #ask: () => Promise<boolean>;
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  #ownedAt = Number.NEGATIVE_INFINITY;

  /** What `ask` throws says more of who has it now. */
  constructor(
    claim: number | undefined,
    ask: () => Promise<boolean>,
    clock: Pick<Clock, 'elapsedMs'>,
  ) {
    this.claim = claim;
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Throws when the run may be that of another server by now. */
  async assertOwned(): Promise<void> {
    const askedAt = this.#clock.elapsedMs();
    if (!(await this.#ask())) throw takenOver();
    this.#ownedAt = askedAt;
  }

  /** The same where a recent answer is enough; undefined when there is one. */
  assertOwnedRecently(): Promise<void> | undefined {
    return this.#clock.elapsedMs() - this.#ownedAt < FRESH_MS ? undefined : this.assertOwned();
  }
}

export interface LeasedWork {
  readonly lease: { confirm(): Promise<void> };
  readonly clock: Pick<Clock, 'elapsedMs'>;
  /** That of the run to which the work belongs. */
  readonly run?: ExecutionFence | undefined;
}

/** Whoever has the lease may write. */
export function fenceOfLease({ lease, clock, run }: LeasedWork): ExecutionFence {
  const ask = async (): Promise<boolean> => {
    await lease.confirm();
    await run?.assertOwned();
    return true;
  };
  return new ExecutionFence(run?.claim, ask, clock);
}

function takenOver(): RunError {
  return new RunError(
    'Custom',
    TAKEN_OVER,
    'other servers were not heard of in time and may execute the run: nothing more is written here',
  );
}
