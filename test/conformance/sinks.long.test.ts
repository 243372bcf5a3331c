/** Every sink of this build keeps the contract of sinks: those that need a server or a program. */
import { sinkFixtures } from './fixtures/fixtures-of.ts';
import { describeSink } from './sink.ts';

for (const [sink, fixture] of await sinkFixtures())
  if (fixture.start !== undefined) describeSink(sink, fixture);
