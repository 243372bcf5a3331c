/** The suite of sinks is tested itself: each broken sink is caught by the clause named beside it. */
import { AssertionError } from 'node:assert';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROKEN_SINKS } from './broken/sinks.ts';
import { SINK_TOOLS } from './sink-tools.ts';
import { fixturesOf } from './fixtures/fixtures-of.ts';
import { holdTo, SINK_CLAUSES } from '../../src/conformance/sink/clauses.ts';
import type { SinkFixture } from '../../src/kit/sink-fixture.ts';

const fixtures = new Map<string, SinkFixture>();
for (const type of new Set(BROKEN_SINKS.map(({ like }) => like))) {
  const [first] = await fixturesOf<SinkFixture>('sinks', type);
  if (first !== undefined) fixtures.set(type, first);
}
beforeAll(async () => {
  for (const fixture of fixtures.values()) await fixture.start?.();
});
afterAll(async () => {
  for (const fixture of fixtures.values()) await fixture.stop?.();
});

describe('a sink that', () => {
  it.for(BROKEN_SINKS)('$what is caught by `$caughtBy`', async ({ definition, like, caughtBy }) => {
    const clause = SINK_CLAUSES.find(({ name }) => name === caughtBy);
    const fixture = fixtures.get(like);
    if (clause === undefined || fixture === undefined)
      throw new Error(`there is no clause \`${caughtBy}\` or no fixture of \`${like}\``);
    const error = await failureOf(holdTo(clause, { definition, fixture, tools: SINK_TOOLS }));
    expect(error, 'the clause does not notice it').toBeInstanceOf(AssertionError);
  });
});

it('a part without a fixture fails with what to add', async () => {
  await expect(fixturesOf('sinks', 'brand-new')).rejects.toThrow(
    'add test/conformance/fixtures/sinks/brand-new.ts',
  );
});

function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}
