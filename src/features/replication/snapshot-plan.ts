/**
 * The plan of the first half: the same document with another source. Its records are rows already,
 * so they join behind `cdc_unwrap`, which makes rows of changes.
 */
import { withBlock } from '../../blocks/define-block.ts';
import type { ReplicationPlan } from '../../blocks/replication/plan.ts';
import { rollbackBlock } from '../../blocks/rollback/index.ts';
import type { Document } from '../../document/document.ts';
import type { Parts } from '../../kit/parts.ts';
import { STATE_KEY } from '../../kit/state-store.ts';
import { ConfigError, RefusedError } from '../../lib/errors.ts';
import { fnv1a64 } from '../../lib/text/fnv.ts';
import { isObject, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { isAtOrBelow } from '../../lib/text/text-path.ts';
import type { Plan, PlannedRow, PlannedTransform } from '../../plan/plan.ts';
import { planDocument } from '../../plan/plan-document.ts';

export interface SnapshotSubject {
  readonly document: Document;
  readonly parts: Parts;
  readonly cpus: number;
  /** The row of the second half, which reads the changes. */
  readonly row: PlannedRow;
  readonly replication: Pick<ReplicationPlan, 'name'>;
}

const SOURCE = 'pipeline.source';

/** Throws `ConfigError`, with places of the document as it was written. */
export function planSnapshot(subject: SnapshotSubject): Plan {
  const { document, parts, cpus, row, replication } = subject;
  const placed = (path: string): string =>
    isAtOrBelow(path, SOURCE)
      ? `${replication.name}.snapshot.source${path.slice(SOURCE.length)}`
      : path;
  const tree = snapshotTree(subject);
  const locate: Document['locate'] = (path) => document.locate(placed(path));
  try {
    const plan = planDocument({ ...document, tree, locate }, parts, { cpus });
    const rows = plan.rows.map((one) => inItsPlaces(one, afterUnwrap(row).from, placed));
    requireKey(rows);
    return { ...plan, locate: document.locate, rows };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const issues = error.issues.map((issue) => ({ ...issue, path: placed(issue.path) }));
    throw new ConfigError(issues, { cause: error });
  }
}

/** Under a key that belongs to this position: another snapshot never goes on where this one was. */
export function withAnchor(plan: Plan, anchor: JsonValue): Plan {
  const stateKey = (row: PlannedRow): string => snapshotKey(row, fnv1a64(stringifyJson(anchor)));
  return { ...plan, rows: plan.rows.map((row) => ({ ...row, stateKey: stateKey(row) })) };
}

function snapshotKey({ stateKey }: PlannedRow, hash: string): string {
  return `${stateKey}::__snapshot__::${hash}`;
}

function requireKey(rows: readonly PlannedRow[]): void {
  for (const key of rows.map((row) => snapshotKey(row, '0'.repeat(16)))) {
    if (STATE_KEY.test(key)) continue;
    throw new RefusedError('bad_config', `\`${key}\` cannot be a state key`, {
      hint: 'give the document a shorter `name`, of letters and digits',
    });
  }
}

/** Blocks that say nothing of the snapshot. */
const OF_CHANGES = new Set(['replication', 'mirror', 'backfill', 'schedule', 'verify']);

function snapshotTree({ document: { tree }, row, replication }: SnapshotSubject): JsonObject {
  const rest = Object.entries(tree).filter(([name]) => !OF_CHANGES.has(name));
  const pipeline = isObject(tree['pipeline']) ? tree['pipeline'] : {};
  const { sources, source, ...others } = pipeline;
  const presets = isObject(sources) ? sources : {};
  const { default: byName, ...besides } = presets;
  const changes = source ?? byName ?? null;
  const {
    type: _type,
    config: _config,
    transforms: _own,
    inherit_transforms: _inherits,
    ...spec
  } = isObject(changes) ? changes : {};
  return {
    ...Object.fromEntries(rest),
    pipeline: {
      ...others,
      sources: besides,
      source: { ...spec, ...sourceOf(tree[replication.name]) },
      transforms: afterUnwrap(row).transforms,
    },
  };
}

function sourceOf(block: JsonValue | undefined): JsonObject {
  const snapshot = isObject(block) ? block['snapshot'] : undefined;
  const source = isObject(snapshot) ? snapshot['source'] : undefined;
  return isObject(source) ? source : {};
}

/** What stands behind the last `cdc_unwrap`, and the mark that this one would have set. */
function afterUnwrap({ transforms }: PlannedRow): {
  readonly transforms: JsonObject[];
  /** Those of the document, in the same order. */
  readonly from: readonly PlannedTransform[];
} {
  const at = transforms.findLastIndex(({ type }) => type === 'cdc_unwrap');
  const from = at < 0 ? transforms : transforms.slice(at);
  return {
    from,
    transforms: from.map((one, index) =>
      at >= 0 && index === 0 ? mark(one) : { type: one.type, config: one.config },
    ),
  };
}

function mark({ judged }: PlannedTransform): JsonObject {
  const field = (judged as { readonly marker_field?: string } | undefined)?.marker_field ?? '__op';
  return { type: 'set', config: { values: { [field]: 'u' } } };
}

/**
 * Failures name the places in the document. Nothing is written to the rollback log: `headgate
 * rollback` would look for the run under the key of the row.
 */
function inItsPlaces(
  row: PlannedRow,
  from: readonly PlannedTransform[],
  placed: (path: string) => string,
): PlannedRow {
  return {
    ...withBlock(row, rollbackBlock, undefined),
    source: { ...row.source, path: placed(row.source.path) },
    transforms: row.transforms.map((one, index) => ({
      ...one,
      path: from[index]?.path ?? one.path,
    })),
  };
}
