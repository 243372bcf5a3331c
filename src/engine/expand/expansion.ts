import { SINGLE_ITERATION, type Iteration } from './iteration.ts';

/**
 * How often a row runs, and for what. Turns are made one by one as they start, so that thousands of
 * them cost nothing while they wait.
 */
export interface Expansion {
  readonly size: number;
  /** Why there is nothing to do, where the size is 0. */
  readonly idle: string;
  iterations(): Iterable<Iteration>;
}

export const ONCE: Expansion = { size: 1, idle: '', iterations: () => [SINGLE_ITERATION] };
