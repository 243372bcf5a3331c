import type { SinkCapabilities, SinkDefinition } from '../kit/sink.ts';
import type { SourceCapabilities, SourceDefinition } from '../kit/source.ts';
import type { StateStoreDefinition } from '../kit/state-store.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import type { DlqSpec } from '../blocks/dlq/schema.ts';
import type { PlannedPart } from './plan-part.ts';
import type { RowDraft } from './row-drafts.ts';

/** A row whose parts are all found; the gates judge it. */
export interface PlannedRow {
  readonly draft: RowDraft;
  readonly source: PlannedPart<SourceDefinition>;
  readonly sink: PlannedPart<SinkDefinition>;
  readonly transforms: readonly PlannedPart<TransformDefinition>[];
  readonly state: PlannedPart<StateStoreDefinition> | undefined;
  readonly dlq:
    | { readonly spec: DlqSpec; readonly path: string; readonly sink: PlannedPart<SinkDefinition> }
    | undefined;
  /** `undefined` when run-time tokens keep the config from being judged. */
  readonly reads: SourceCapabilities | undefined;
  readonly writes: SinkCapabilities | undefined;
}

/** How messages call a row: nothing for the single row of a document without a matrix. */
export function rowName(draft: RowDraft): string {
  if (draft.node !== undefined) return `sink node \`${draft.id}\``;
  return draft.path === '' ? 'the pipeline' : `row \`${draft.id}\``;
}
