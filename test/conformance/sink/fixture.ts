/** Where fixtures of sinks get their types. */
export type { Destination, Encode, SinkFixture } from '../../../src/kit/sink-fixture.ts';
