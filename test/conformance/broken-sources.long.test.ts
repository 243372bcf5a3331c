/** The suite of sources is tested itself: sound sources keep every clause, broken ones break theirs. */
import { describe, expect, it } from 'vitest';
import { BROKEN_SOURCES } from './broken/sources.ts';
import { BROKEN_UNBOUNDED } from './broken/unbounded-sources.ts';
import { memoryLog, memoryQueueSource, queueFixture } from './reference/memory-queue.ts';
import { memoryFixture, memorySource } from './reference/memory-source.ts';
import { describeSource } from './source.ts';
import { brokenClauses } from '../../src/conformance/source/clauses.ts';

describeSource(memorySource, memoryFixture);
describeSource(memoryLog, queueFixture);
describeSource(memoryQueueSource, queueFixture);

describe('a source that', () => {
  it.for([...BROKEN_SOURCES, ...BROKEN_UNBOUNDED])(
    '$what is caught by `$caughtBy` alone',
    async (source) => {
      const { definition, fixture, caughtBy } = source;
      const broken = await brokenClauses(definition, fixture);
      expect(broken, JSON.stringify(broken)).toEqual({ [caughtBy]: expect.any(String) });
    },
  );
});
