/** Every state store of this build keeps the contract of stores, and broken ones are caught. */
import { AssertionError } from 'node:assert';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STATE_STORES } from '../../src/state/index.ts';
import { BROKEN_STORES } from './broken/states.ts';
import { fixturesOf } from './fixtures/fixtures-of.ts';
import { holdStoreTo, STATE_CLAUSES } from './state/clauses.ts';
import type { StateFixture } from './state/subject.ts';

for (const store of STATE_STORES) {
  for (const fixture of await fixturesOf<StateFixture>('states', store.type)) {
    const name = fixture.name ?? (fixture.missing === undefined ? '' : `[${fixture.missing}]`);
    describe.skipIf(fixture.missing !== undefined)(`state store ${store.type} ${name}`, () => {
      beforeAll(() => fixture.start?.());
      afterAll(() => fixture.stop?.());
      for (const clause of STATE_CLAUSES) {
        it(`${clause.name}: ${clause.title}`, async ({ skip }) => {
          const reason = await holdStoreTo(clause, store, fixture);
          if (reason !== undefined) skip(reason);
        });
      }
    });
  }
}

describe('a state store that', () => {
  it.for(BROKEN_STORES)('$what is caught by `$caughtBy`', async ({ definition, caughtBy }) => {
    const [fixture] = await fixturesOf<StateFixture>('states', 'file');
    const clause = STATE_CLAUSES.find(({ name }) => name === caughtBy);
    if (clause === undefined || fixture === undefined)
      throw new Error(`there is no clause \`${caughtBy}\``);
    const error: unknown = await holdStoreTo(clause, definition, fixture).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error, 'the clause does not notice it').toBeInstanceOf(AssertionError);
  });
});
