/** The moments of a run at which a crash leaves other things behind than a moment earlier. */

export const FAILPOINTS = {
  opened: 'everything is open, nothing is read',
  before_write: 'a page is about to go to the sink',
  after_write: 'the sink has taken it',
  after_dead_letters: 'its dead letters are written',
  after_flush: 'the sink is flushed',
  after_dead_letter_flush: 'the dead-letter queue is flushed',
  after_bookmark: 'the bookmark is stored',
  after_acknowledge: 'the source knows',
  after_recovery: 'the position the destination holds is stored',
  before_finish: 'all pages are through',
  after_finish: 'the sink has made the output whole',
  after_anchor: 'the position before the snapshot of a replication is taken',
  after_anchor_stored: 'the changes begin at it',
  after_phase: 'how far the replication has come is stored',
} as const satisfies Readonly<Record<string, string>>;

export type Failpoint = keyof typeof FAILPOINTS;

/** Where a run is when it reaches a failpoint. */
export interface FailpointPlace {
  readonly row: string;
  /** Pages read so far, with the current one. */
  readonly page: number;
}

/** Called at each failpoint, before the run continues. */
export type FailpointHook = (step: Failpoint, place: FailpointPlace) => void;

/** For code that does not know row and page: these are filled in where the row is opened. */
export type HitFailpoint = (step: Failpoint) => void;
