/**
 * The files that take the longest begin first, so that none of them is left at the end for one processor
 * while the other has nothing to do. On a machine that has run the tests before, vitest knows their
 * times; on one that has not, it would go by the sizes of the files.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They walk all registered parts; the slowest stands first. */
const SLOWEST: readonly string[] = [
  'crashes',
  'sinks',
  'wire-faults',
  'sources',
  'server-restarts',
  'wire-silence',
].map((name) => `/test/conformance/${name}.long.test.ts`);

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = SLOWEST.findIndex((file) => moduleId.endsWith(file));
  return place === -1 ? SLOWEST.length : place;
}
