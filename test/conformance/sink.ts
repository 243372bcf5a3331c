/** The contract of a sink (`src/kit/sink.ts`), as a suite every sink is held to. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SinkDefinition } from '../../src/kit/sink.ts';
import { SINK_TOOLS } from './sink-tools.ts';
import { holdTo, SINK_CLAUSES } from '../../src/conformance/sink/clauses.ts';
import type { SinkFixture } from '../../src/kit/sink-fixture.ts';

/** Servers in Java take their time. */
const START_MS = 60_000;

export function describeSink(definition: SinkDefinition, fixture: SinkFixture): void {
  const name = fixture.name === undefined ? '' : ` (${fixture.name})`;
  const missing = fixture.missing === undefined ? '' : ` [${fixture.missing}]`;
  describe.skipIf(fixture.missing !== undefined)(`sink ${definition.type}${name}${missing}`, () => {
    beforeAll(() => fixture.start?.(), START_MS);
    afterAll(() => fixture.stop?.());
    it('opts out of clauses that exist', () => {
      const names = SINK_CLAUSES.map((clause) => clause.name);
      expect(Object.keys(fixture.skip ?? {}).filter((one) => !names.includes(one))).toEqual([]);
    });
    for (const clause of SINK_CLAUSES) {
      it(`${clause.name}: ${clause.title}`, async ({ skip }) => {
        const reason = await holdTo(clause, { definition, fixture, tools: SINK_TOOLS });
        if (reason !== undefined) skip(reason);
      });
    }
  });
}
