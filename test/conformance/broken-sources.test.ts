/** The suite of sources is tested itself: sound sources keep every clause, broken ones break theirs. */
import { describe, expect, it } from 'vitest';
import { BROKEN_SOURCES } from './broken/sources.ts';
import { memoryFixture, memorySource } from './reference/memory-source.ts';
import { describeSource } from './source.ts';
import { brokenClauses } from './source/clauses.ts';

describeSource(memorySource, memoryFixture);

describe('a source that', () => {
  it.for(BROKEN_SOURCES)('$what is caught by `$caughtBy` alone', async (source) => {
    const { definition, fixture, caughtBy } = source;
    const broken = await brokenClauses(definition, fixture);
    expect(broken, JSON.stringify(broken)).toEqual({ [caughtBy]: expect.any(String) });
  });
});
