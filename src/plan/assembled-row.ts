import type { SinkCapabilities, SinkDefinition } from '../kit/sink.ts';
import type { SourceCapabilities, SourceDefinition } from '../kit/source.ts';
import type { StateStoreDefinition } from '../kit/state-store.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import type { DlqSpec } from '../blocks/dlq/schema.ts';
import type { AssembledPart } from './plan-part.ts';
import type { ResolvedRow } from './resolve-rows.ts';

/** A row whose parts are all found; the gates judge it. */
export interface AssembledRow {
  readonly resolved: ResolvedRow;
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
}

/** How messages call a row: nothing for the single row of a document without a matrix. */
export function rowName(resolved: ResolvedRow): string {
  if (resolved.node !== undefined) return `sink node \`${resolved.id}\``;
  return resolved.path === '' ? 'the pipeline' : `row \`${resolved.id}\``;
}
