/** Where fixtures of sources get their types. */
export type { Overlap, SourceFixture, Upstream } from '../../../src/kit/source-fixture.ts';
