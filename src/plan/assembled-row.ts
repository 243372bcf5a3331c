import type { SinkCapabilities, SinkDefinition } from '../kit/sink.ts';
import type { SourceCapabilities, SourceDefinition } from '../kit/source.ts';
import type { StateStoreDefinition } from '../kit/state-store.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import type { DlqSpec } from '../blocks/dlq/schema.ts';
import type { AssembledPart } from './plan-part.ts';
import type { Guarantee } from './plan.ts';
import type { ResolvedRow } from './resolved-row.ts';

/** A row whose parts are all found; the rules judge it. */
export interface AssembledRow {
  readonly resolved: ResolvedRow;
  /** How messages call it. */
  readonly name: string;
  readonly stateKey: string;
  readonly source: AssembledPart<SourceDefinition>;
  readonly sink: AssembledPart<SinkDefinition>;
  readonly transforms: readonly AssembledPart<TransformDefinition>[];
  readonly state: AssembledPart<StateStoreDefinition> | undefined;
  readonly dlq:
    | {
        readonly spec: DlqSpec;
        readonly path: string;
        readonly sink: AssembledPart<SinkDefinition>;
      }
    | undefined;
  /** `undefined` when run-time tokens keep the config from being judged. */
  readonly reads: SourceCapabilities | undefined;
  readonly writes: SinkCapabilities | undefined;
  readonly guarantee: Guarantee;
  /** Whether it is read in chunks or shards. */
  readonly isCut: boolean;
  /** Whether it is one invocation: not one for each record, tuple, chunk or shard. */
  readonly runsOnce: boolean;
  /** The column that every record gets with the id of its run, if there is one. */
  readonly runIdColumn: string | undefined;
}

/** How messages call a row: nothing for the single row of a document without a matrix. */
export function rowName(resolved: ResolvedRow): string {
  if (resolved.node !== undefined) return `sink node \`${resolved.id}\``;
  return resolved.path === '' ? 'the pipeline' : `row \`${resolved.id}\``;
}
