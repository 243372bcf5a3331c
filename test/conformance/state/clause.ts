import type { StateSubject } from './subject.ts';

/** One thing every state store owes its callers. */
export interface StateClause {
  /** Stable; broken stores name the clause that must catch them. */
  readonly name: string;
  /** The second half of a sentence that starts with the name of the store. */
  readonly title: string;
  inapplicable?(subject: StateSubject): string | undefined;
  /** Throws when the store breaks the clause. */
  check(subject: StateSubject): Promise<void>;
}
