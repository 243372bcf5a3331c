/** The moments at which a crash would leave something else behind than a moment before. */

export const DURABLE_STEPS = {
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
} as const satisfies Readonly<Record<string, string>>;

export type DurableStep = keyof typeof DURABLE_STEPS;

/** Where in a run a step is come to. */
export interface StepPlace {
  readonly row: string;
  /** Pages taken from the source so far, the one at hand included. */
  readonly page: number;
}

/** Told of each step as it is come to, before anything else happens. */
export type OnStep = (step: DurableStep, place: StepPlace) => void;

/** The same, for those who need not know where they are. */
export type Reach = (step: DurableStep) => void;
