/** Every sink of this build keeps the contract of sinks. */
import { SINKS } from '../../src/connectors/index.ts';
import { fixturesOf } from './fixtures/fixtures-of.ts';
import { describeSink } from './sink.ts';
import type { SinkFixture } from '../../src/kit/sink-fixture.ts';

for (const sink of SINKS) {
  for (const fixture of await fixturesOf<SinkFixture>('sinks', sink.type))
    describeSink(sink, fixture);
}
