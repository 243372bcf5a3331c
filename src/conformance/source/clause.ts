import type { SourceSubject } from './subject.ts';

/** One thing every source owes its readers. Clauses are data: real and broken parts run the same. */
export interface SourceClause {
  /** Stable; fixtures opt out by it and broken sources name the one that must catch them. */
  readonly name: string;
  /** The second half of a sentence that starts with the name of the source. */
  readonly title: string;
  /** Why the clause says nothing about this fixture; `undefined` when it does. */
  inapplicable?(subject: SourceSubject): string | undefined;
  /** Throws when the source does not keep the clause. */
  check(subject: SourceSubject): Promise<void>;
}
