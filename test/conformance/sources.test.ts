/**
 * Every source of this build keeps the contract of sources. What needs a server or a
 * program is held to it by `sources.long.test.ts`.
 */
import { sourceFixtures } from './fixtures/fixtures-of.ts';
import { describeSource } from './source.ts';

for (const [source, fixture] of await sourceFixtures())
  if (fixture.start === undefined) describeSource(source, fixture);
