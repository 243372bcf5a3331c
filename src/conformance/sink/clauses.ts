/** All clauses, and how a sink is held to one of them. */
import type { SinkClause } from './clause.ts';
import { DESTINATION } from './destination.ts';
import { DURABILITY } from './durability.ts';
import { FLAGS } from './flags.ts';
import { MODES } from './modes.ts';
import { ROLLBACK } from './rollback.ts';
import { SinkSubject } from './subject.ts';
import { TAKE_OVER } from './take-over.ts';
import { TAKE_OVER_ENDS } from './take-over-ends.ts';
import { TOKENS } from './tokens.ts';
import type { SinkCase } from './tools.ts';
import { WRITING } from './writing.ts';

export const SINK_CLAUSES: readonly SinkClause[] = [
  ...WRITING,
  ...DURABILITY,
  ...MODES,
  ...TOKENS,
  ...TAKE_OVER,
  ...TAKE_OVER_ENDS,
  ...ROLLBACK,
  ...DESTINATION,
  ...FLAGS,
];

/** Throws when the sink breaks the clause; gives the reason when the clause does not apply. */
export async function holdTo(clause: SinkClause, given: SinkCase): Promise<string | undefined> {
  const subject = await SinkSubject.of(given);
  const reason = given.fixture.skip?.[clause.name] ?? clause.inapplicable?.(subject);
  if (reason === undefined) await clause.check(subject);
  return reason;
}
