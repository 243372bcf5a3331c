/** The contract of a source as data, and how it is put to one. */
import type { SourceDefinition } from '../../kit/source.ts';
import { CAPABILITY_CLAUSES } from './capabilities.ts';
import type { SourceClause } from './clause.ts';
import type { SourceFixture } from '../../kit/source-fixture.ts';
import { RECORD_CLAUSES } from './records.ts';
import { BOOKMARK_CLAUSES } from './resume.ts';
import { ENDING_CLAUSES } from './stop.ts';
import { SourceSubject, within } from './subject.ts';
import { UNBOUNDED_CLAUSES } from './unbounded.ts';

export const SOURCE_CLAUSES: readonly SourceClause[] = [
  ...RECORD_CLAUSES,
  ...BOOKMARK_CLAUSES,
  ...ENDING_CLAUSES,
  ...CAPABILITY_CLAUSES,
  ...UNBOUNDED_CLAUSES,
];

/** A source that needs longer for one clause is stuck. */
const CLAUSE_MS = 100_000;

/** Throws when the clause is not kept; the reason why it says nothing, when it does not apply. */
export async function holdTo(
  clause: SourceClause,
  definition: SourceDefinition,
  fixture: SourceFixture,
): Promise<string | undefined> {
  const opted = fixture.skip?.[clause.name];
  if (opted !== undefined) return opted;
  const subject = await SourceSubject.of(definition, fixture);
  const reason = clause.inapplicable?.(subject);
  if (reason === undefined) await within(CLAUSE_MS, clause.check(subject), clause.title);
  return reason;
}

/** The clauses that a source breaks, each with what was seen. */
export async function brokenClauses(
  definition: SourceDefinition,
  fixture: SourceFixture,
): Promise<Record<string, string>> {
  const broken: Record<string, string> = {};
  for (const clause of SOURCE_CLAUSES) {
    await holdTo(clause, definition, fixture).catch((error: unknown) => {
      broken[clause.name] = error instanceof Error ? error.message : String(error);
    });
  }
  return broken;
}
