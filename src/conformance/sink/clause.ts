import type { SinkSubject } from './subject.ts';

/** One thing every sink owes its callers. Clauses are data: real and broken sinks run the same. */
export interface SinkClause {
  /** Stable; broken sinks name the clause that must catch them. */
  readonly name: string;
  /** The second half of a sentence that starts with the name of the sink. */
  readonly title: string;
  /** Why the clause says nothing about this sink; `undefined` when it does. */
  readonly inapplicable?: (subject: SinkSubject) => string | undefined;
  /** Throws when the sink breaks the clause. */
  check(subject: SinkSubject): Promise<void>;
}
