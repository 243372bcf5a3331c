import type { AssembledMembers } from '../blocks/row-members.ts';
import type { SinkCapabilities, SinkDefinition } from '../kit/sink.ts';
import type { SourceCapabilities, SourceDefinition } from '../kit/source.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import type { AssembledPart } from './plan-part.ts';
import type { ResolvedRow } from './resolved-row.ts';

/** A row whose parts are all found; the rules judge it. */
export interface AssembledRow extends AssembledMembers {
  readonly resolved: ResolvedRow;
  /** How messages call it. */
  readonly name: string;
  readonly stateKey: string;
  readonly source: AssembledPart<SourceDefinition>;
  readonly sink: AssembledPart<SinkDefinition>;
  readonly transforms: readonly AssembledPart<TransformDefinition>[];
  /** `undefined` when run-time tokens keep the config from being judged. */
  readonly reads: SourceCapabilities | undefined;
  readonly writes: SinkCapabilities | undefined;
  /** Whether it is read in chunks or shards. */
  readonly isCut: boolean;
  /** Whether it is one invocation: not one for each record, tuple, chunk or shard. */
  readonly runsOnce: boolean;
}

/** Before it is known what it guarantees. */
export type UnjudgedRow = Omit<AssembledRow, 'delivery' | 'guarantee'>;

/** How messages call a row: nothing for the single row of a document without a matrix. */
export function rowName(resolved: ResolvedRow): string {
  if (resolved.node !== undefined) return `sink node \`${resolved.id}\``;
  return resolved.path === '' ? 'the pipeline' : `row \`${resolved.id}\``;
}
