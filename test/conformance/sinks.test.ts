/**
 * Every sink of this build keeps the contract of sinks. What needs a server or a
 * program is held to it by `sinks.long.test.ts`.
 */
import { sinkFixtures } from './fixtures/fixtures-of.ts';
import { describeSink } from './sink.ts';

for (const [sink, fixture] of await sinkFixtures())
  if (fixture.start === undefined) describeSink(sink, fixture);
