/** Every source of this build keeps the contract of sources: those that need a server or a program. */
import { sourceFixtures } from './fixtures/fixtures-of.ts';
import { describeSource } from './source.ts';

for (const [source, fixture] of await sourceFixtures())
  if (fixture.start !== undefined) describeSource(source, fixture);
