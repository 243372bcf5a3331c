/** What a package with a connector exports. */
import type { SinkDefinition } from './sink.ts';
import type { SourceDefinition } from './source.ts';

/**
 * The version of what `headgate/kit` offers. It grows when a connector that was written for the
 * version before may not work any more, and only then.
 */
export const KIT_VERSION = 1;

/** A source, a sink, or both, for one kind of system. */
export interface Connector {
  readonly role: 'connector';
  /** The version of the kit that it was written for. */
  readonly kit: number;
  readonly source?: SourceDefinition;
  readonly sink?: SinkDefinition;
}

/**
 * Declares what a package offers; its main module exports the result as `connector`. `kit` is written
 * as a number, not taken from `KIT_VERSION`: it says what the connector was written for.
 */
export function defineConnector(definition: Omit<Connector, 'role'>): Connector {
  return Object.freeze({ role: 'connector' as const, ...definition });
}
