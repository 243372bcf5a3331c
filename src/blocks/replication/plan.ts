/** What the halves of a replication need of the document: a snapshot of rows, then changes. */
import type { Placed } from '../../document/parse/read-blocks.ts';
import { replacedOutput, type SinkCapabilities } from '../../kit/sink.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { PlannedRow, PlannedSource } from '../../plan/plan.ts';
import type { BlockPlace, BlockTools, PlanInMaking } from '../define-block.ts';
import type { ReplicationSpec } from './schema.ts';

export interface ReplicationPlan {
  /** Its key in the document: `replication` or `mirror`. */
  readonly name: string;
  /** Reads the rows of the snapshot; `undefined` where that is faulty. */
  readonly source: PlannedSource | undefined;
  readonly continuous: boolean;
}

/** Both names together would leave open which of them counts. */
export function planReplication(
  { path, value }: Placed<ReplicationSpec>,
  { planSource, issues, tree, isOneRow }: BlockTools,
): ReplicationPlan {
  const both = ['replication', 'mirror'].every((name) => (tree[name] ?? null) !== null);
  if (both && path === 'mirror')
    issues.error(
      'conflicting_keys',
      path,
      '`mirror` is another name of `replication`, and the document has both',
      'keep one of them',
    );
  if (!isOneRow) impossible({ path, issues }, 'the document has several rows, or nodes', ONE_ROW);
  const source = planSource({
    path: joinPath(path, 'snapshot', 'source'),
    value: value.snapshot.source,
  });
  return { name: path, source, continuous: value.continuous };
}

const ONE_ROW = 'leave `matrix` and `pipeline.nodes` out, and replicate each table with a document';

/** A document that asks for a replication must be one with which it can be made. */
export function checkReplication(
  { source }: ReplicationPlan,
  { rows, topology }: PlanInMaking,
  place: BlockPlace,
): void {
  const [row] = rows;
  if (row === undefined || rows.length > 1 || topology !== undefined) return;
  checkChanges(row, place);
  checkSnapshot(source, place);
  checkState(row, place);
  checkSink(row, source, place);
}

function checkChanges({ source, partition }: PlannedRow, place: BlockPlace): void {
  const { definition, judged, type } = source;
  if (definition.anchors === undefined)
    impossible(
      place,
      `the source of the pipeline, \`${type}\`, reads no changes`,
      'name the source that reads the changes there, e.g. `postgres-cdc`, and the one that reads the table in `snapshot.source`',
    );
  else if (judged !== undefined && definition.capabilities(judged).replay !== 'positional')
    impossible(
      place,
      `with its config \`${type}\` cannot go on from a position that was taken before the snapshot`,
      'use a permanent slot (`slot_type: permanent`)',
    );
  if (partition !== undefined)
    impossible(place, 'the pipeline is cut into chunks', 'remove `partition`');
}

function checkSnapshot(source: PlannedSource | undefined, place: BlockPlace): void {
  if (source === undefined) return;
  const { definition, judged, type } = source;
  const waits = judged !== undefined && definition.capabilities(judged).unbounded !== undefined;
  if (definition.anchors === undefined && !waits) return;
  impossible(
    { ...place, path: joinPath(place.path, 'snapshot', 'source') },
    `\`${type}\` waits for what changes, and reads no table`,
    'name a source that ends, e.g. `postgres` with a query',
  );
}

function checkState({ state }: PlannedRow, place: BlockPlace): void {
  if (state?.definition.durable === true) return;
  const message =
    state === undefined
      ? 'there is no `state`, in which it remembers how far it has come'
      : `the state store \`${state.type}\` forgets how far it has come when the process ends`;
  impossible(place, message, 'add a `state` of the type `file`, for example');
}

function checkSink(
  { sink, delivery }: PlannedRow,
  source: PlannedSource | undefined,
  place: BlockPlace,
): void {
  const { definition, judged, type } = sink;
  if (judged === undefined) return;
  if (replacedOutput(definition, judged) !== undefined)
    return impossible(
      place,
      `the sink \`${type}\` replaces what it wrote before: the changes would take the place of the snapshot`,
      'choose `write_mode: upsert` with a `key`, or a sink that adds (`append: true`)',
    );
  if (isKeyedSink(definition.capabilities(judged))) return;
  if (delivery === 'exactly_once' && !isPositional(source))
    return place.issues.error(
      'exactly_once_unreachable',
      joinPath(place.path, 'snapshot', 'source'),
      `the snapshot cannot be written exactly once: its source \`${source?.type ?? ''}\` cannot be read again from an exact position`,
      `give the sink \`${type}\` \`write_mode: upsert\` and a \`key\``,
    );
  place.issues.warn(
    'replication_not_keyed',
    place.path,
    `the sink \`${type}\` only adds records: rows that change while the snapshot is read are there twice, and changes do not replace what they change`,
    'give it `write_mode: upsert` and a `key`',
  );
}

export function isKeyedSink({ writeMode, key }: SinkCapabilities): boolean {
  return isKeyed(writeMode) && key.length > 0;
}

/** Not to be judged before the run counts as capable: the run then looks again. */
function isPositional(source: PlannedSource | undefined): boolean {
  const judged = source?.judged;
  return judged === undefined || source?.definition.capabilities(judged).replay === 'positional';
}

function impossible({ path, issues }: BlockPlace, message: string, hint: string): void {
  const [block = path] = path.split('.');
  issues.error('replication_impossible', path, `\`${block}\` cannot be made: ${message}`, hint);
}
