/** Every kind of trigger of this build keeps the contract of triggers, and broken ones are caught. */
import { AssertionError } from 'node:assert';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TRIGGERS } from '../../src/triggers/index.ts';
import { BROKEN_TRIGGERS, soundFixture, soundTrigger } from './broken/triggers.ts';
import { fixturesOf } from './fixtures/fixtures-of.ts';
import { clausesOf } from './trigger/clauses.ts';
import type { TriggerFixture } from './trigger/subject.ts';

const START_MS = 90_000;

for (const definition of TRIGGERS) {
  for (const fixture of await fixturesOf<TriggerFixture>('triggers', definition.type)) {
    const missing = fixture.missing === undefined ? '' : ` [${fixture.missing}]`;
    describe.skipIf(fixture.missing !== undefined)(
      `trigger ${definition.type} ${fixture.name ?? ''}${missing}`,
      () => {
        beforeAll(() => fixture.start?.(), START_MS);
        afterAll(() => fixture.stop?.());
        it('learns of its events as its fixture says', () =>
          expect(definition.events.by).toBe(fixture.events));
        for (const clause of clausesOf(fixture)) {
          it(`${clause.name}: ${clause.title}`, { timeout: 60_000 }, async ({ skip }) => {
            const reason = await clause.hold(definition);
            if (reason !== undefined) skip(reason);
          });
        }
      },
    );
  }
}

describe('a sound trigger', () => {
  it.for(clausesOf(soundFixture()))('keeps `$name`', async (clause) => {
    expect(await clause.hold(soundTrigger)).toBeUndefined();
  });
});

describe('a trigger that', () => {
  it.for(BROKEN_TRIGGERS)('$what is caught by `$caughtBy`', async ({ definition, caughtBy }) => {
    const clause = clausesOf(soundFixture()).find(({ name }) => name === caughtBy);
    if (clause === undefined) throw new Error(`there is no clause \`${caughtBy}\``);
    const error: unknown = await clause.hold(definition).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error, 'the clause does not notice it').toBeInstanceOf(AssertionError);
  });
});
