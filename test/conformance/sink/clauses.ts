/** All clauses, and how a sink is held to one of them. */
import type { SinkDefinition } from '../../../src/kit/sink.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import type { SinkClause } from './clause.ts';
import { DESTINATION } from './destination.ts';
import { DURABILITY } from './durability.ts';
import type { SinkFixture } from './fixture.ts';
import { FLAGS } from './flags.ts';
import { MODES } from './modes.ts';
import { ROLLBACK } from './rollback.ts';
import { SinkSubject } from './subject.ts';
import { TOKENS } from './tokens.ts';
import { WRITING } from './writing.ts';

export const SINK_CLAUSES: readonly SinkClause[] = [
  ...WRITING,
  ...DURABILITY,
  ...MODES,
  ...TOKENS,
  ...ROLLBACK,
  ...DESTINATION,
  ...FLAGS,
];

/** Throws when the sink breaks the clause; gives the reason when the clause does not apply. */
export async function holdTo(
  clause: SinkClause,
  definition: SinkDefinition,
  fixture: SinkFixture,
): Promise<string | undefined> {
  const subject = await SinkSubject.of(definition, fixture);
  const reason = fixture.skip?.[clause.name] ?? clause.inapplicable?.(subject);
  if (reason === undefined) await clause.check(subject);
  return reason;
}

/** The clauses that a sink breaks, each with how. */
export async function brokenClauses(
  definition: SinkDefinition,
  fixture: SinkFixture,
): Promise<Record<string, string>> {
  const broken: Record<string, string> = {};
  for (const clause of SINK_CLAUSES) {
    const error: unknown = await holdTo(clause, definition, fixture).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error !== undefined) broken[clause.name] = messageOf(error);
  }
  return broken;
}
