/**
 * Changes of a table in the words of the REST catalog. Other catalogs have a new metadata file
 * written, to which the same changes are applied.
 */
import { wholeNumber } from '../../_files/parquet/exact-values.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { listOf, textsOf } from './table-metadata.ts';

export type TableUpdate =
  | {
      readonly action: 'add-schema';
      readonly schema: JsonObject;
      readonly 'last-column-id': number;
    }
  /** -1: the schema that was added last. */
  | { readonly action: 'set-current-schema'; readonly 'schema-id': number }
  | { readonly action: 'add-spec'; readonly spec: JsonObject }
  /** -1: the one that was added last. */
  | { readonly action: 'set-default-spec'; readonly 'spec-id': number }
  | { readonly action: 'add-snapshot'; readonly snapshot: JsonObject }
  | {
      readonly action: 'set-snapshot-ref';
      readonly 'ref-name': string;
      readonly type: 'branch';
      readonly 'snapshot-id': JsonValue;
    }
  | { readonly action: 'set-properties'; readonly updates: Record<string, string> };

/** The only branch that is written and read. */
export const MAIN = 'main';

/** Old metadata files that the table names unless it says otherwise. */
const KEPT_FILES = 100;

interface Applying {
  readonly now: number;
  /** The metadata file that is replaced; absent for a new table. */
  readonly before: string | undefined;
}

export function applyUpdates(
  raw: JsonObject,
  updates: readonly TableUpdate[],
  { now, before }: Applying,
): JsonObject {
  const out: JsonObject = { ...raw };
  for (const update of updates) apply(out, update);
  if (before !== undefined) {
    const kept = Number(
      textsOf(raw['properties'])['write.metadata.previous-versions-max'] ?? KEPT_FILES,
    );
    const log = [
      ...listOf(raw['metadata-log']),
      { 'timestamp-ms': raw['last-updated-ms'] ?? now, 'metadata-file': before },
    ];
    out['metadata-log'] = log.slice(-Math.max(1, kept));
  }
  out['last-updated-ms'] = Math.max(now, Number(raw['last-updated-ms'] ?? 0));
  return out;
}

function apply(out: JsonObject, update: TableUpdate): void {
  switch (update.action) {
    case 'add-schema': {
      const schemas = listOf(out['schemas']);
      const id = Math.max(-1, ...schemas.map((one) => Number(one['schema-id'] ?? 0))) + 1;
      out['schemas'] = [...schemas, { ...update.schema, 'schema-id': id }];
      out['last-column-id'] = Math.max(
        Number(out['last-column-id'] ?? 0),
        update['last-column-id'],
      );
      break;
    }
    case 'set-current-schema': {
      const last = listOf(out['schemas']).at(-1)?.['schema-id'] ?? 0;
      out['current-schema-id'] = update['schema-id'] === -1 ? last : update['schema-id'];
      break;
    }
    case 'add-spec': {
      const specs = listOf(out['partition-specs']);
      const id = Math.max(-1, ...specs.map((one) => Number(one['spec-id'] ?? 0))) + 1;
      out['partition-specs'] = [...specs, { ...update.spec, 'spec-id': id }];
      const ids = listOf(update.spec['fields']).map((one) => Number(one['field-id'] ?? 0));
      out['last-partition-id'] = Math.max(Number(out['last-partition-id'] ?? 0), ...ids);
      break;
    }
    case 'set-default-spec': {
      const last = listOf(out['partition-specs']).at(-1)?.['spec-id'] ?? 0;
      out['default-spec-id'] = update['spec-id'] === -1 ? last : update['spec-id'];
      break;
    }
    case 'add-snapshot': {
      out['snapshots'] = [...listOf(out['snapshots']), update.snapshot];
      out['last-sequence-number'] = update.snapshot['sequence-number'] ?? 0;
      break;
    }
    case 'set-snapshot-ref': {
      const id = update['snapshot-id'];
      const added = listOf(out['snapshots']).find((one) => one['snapshot-id'] === id);
      const refs = out['refs'] as JsonObject | undefined;
      const ref = refs?.[MAIN] as JsonObject | undefined;
      out['refs'] = { ...refs, [MAIN]: { ...ref, 'snapshot-id': id, type: 'branch' } };
      out['current-snapshot-id'] = id;
      out['snapshot-log'] = [
        ...listOf(out['snapshot-log']),
        { 'timestamp-ms': added?.['timestamp-ms'] ?? 0, 'snapshot-id': id },
      ];
      break;
    }
    case 'set-properties':
      out['properties'] = { ...textsOf(out['properties']), ...update.updates };
      break;
    default:
      update satisfies never;
  }
}

export function snapshotIdJson(id: bigint): JsonValue {
  return wholeNumber(id);
}
