/**
 * The contract of a source (`src/kit/source.ts`), as a suite every source is held to. A fixture opts
 * out of a clause only by naming it with a reason.
 */
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { SourceDefinition } from '../../src/kit/source.ts';
import { holdTo, SOURCE_CLAUSES } from '../../src/conformance/source/clauses.ts';
import type { SourceFixture } from '../../src/kit/source-fixture.ts';

export type { SourceFixture } from '../../src/kit/source-fixture.ts';

/** More than the suite gives a clause. */
const LONGEST_MS = 120_000;

/** Servers in Java take their time. */
const START_MS = 60_000;

export function describeSource(definition: SourceDefinition, fixture: SourceFixture): void {
  const name = fixture.name === undefined ? '' : ` (${fixture.name})`;
  const missing = fixture.missing === undefined ? '' : ` [${fixture.missing}]`;
  describe.skipIf(fixture.missing !== undefined)(
    `source ${definition.type}${name}${missing}`,
    () => {
      beforeAll(() => fixture.start?.(), START_MS);
      afterAll(() => fixture.stop?.());
      it('opts out of clauses that there are', ({ expect }) => {
        const names = SOURCE_CLAUSES.map((clause) => clause.name);
        expect(Object.keys(fixture.skip ?? {}).filter((one) => !names.includes(one))).toEqual([]);
      });
      for (const clause of SOURCE_CLAUSES) {
        it(`${clause.name}: ${clause.title}`, { timeout: LONGEST_MS }, async ({ skip }) => {
          const reason = await holdTo(clause, definition, fixture);
          if (reason !== undefined) skip(reason);
        });
      }
    },
  );
}
