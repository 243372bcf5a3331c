/** Every source of this build keeps the contract of sources. */
import { SOURCES } from '../../src/connectors/index.ts';
import { fixturesOf } from './fixtures/fixtures-of.ts';
import { describeSource, type SourceFixture } from './source.ts';

for (const source of SOURCES) {
  for (const fixture of await fixturesOf<SourceFixture>('sources', source.type))
    describeSource(source, fixture);
}
