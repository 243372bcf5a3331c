import type { SinkDefinition } from '../../kit/sink.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import type { SinkFixture } from '../../kit/sink-fixture.ts';

/** What the suite takes from whoever runs it. */
export interface SinkTools {
  /** Among these are the sources that read back what sinks wrote. */
  readonly sources: readonly SourceDefinition[];
  readonly writer: WriterProgram;
}

/**
 * A program that does with a sink what a task says, by `takeSteps`. It is given the task as its last
 * argument.
 */
export interface WriterProgram {
  readonly entry: string;
  readonly words: readonly string[];
}

/** A sink in one way to configure it. */
export interface SinkCase {
  readonly definition: SinkDefinition;
  readonly fixture: SinkFixture;
  readonly tools: SinkTools;
}
