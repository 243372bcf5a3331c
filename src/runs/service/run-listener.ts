import type { RunEvent, RunIdentity } from '../../wire/run-event.ts';

/** Hears what happens to runs. One that fails is logged, and changes nothing for the run. */
export interface RunListener {
  readonly name: string;
  /** Called once for each run of this instance; what it gives takes every event, and returns at once. */
  follow(run: RunIdentity): (event: RunEvent) => void;
  /** Resolves when nothing that it began is under way, or the signal fires. */
  settle?(signal: AbortSignal): Promise<void>;
}
