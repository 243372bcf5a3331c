/** A plan as JSON: how each row would run, and the graph it belongs to. */
import { blockOf } from '../../blocks/define-block.ts';
import { lineageBlock } from '../../blocks/lineage/index.ts';
import { partitionDocument } from '../../blocks/partition/explain.ts';
import type { Plan, PlannedRow, TopologyPlan } from '../../plan/plan.ts';
import { factsAbout, listedBlocks } from './row-checks.ts';
import { factsOf, laneName } from './row-facts.ts';
import { rowTypes, typesDocument, type RowTypes } from './stage-types.ts';

export function rowDocument(
  row: PlannedRow,
  plan: Plan,
  types: RowTypes = rowTypes(row),
): Record<string, unknown> {
  const facts = factsOf(row);
  const lineage = blockOf(plan, lineageBlock);
  return {
    row: row.id,
    source: { type: row.source.type, template: row.source.preset, uri: facts.sourceUri ?? null },
    sink: { type: row.sink.type, template: row.sink.preset, uri: facts.sinkUri ?? null },
    write_mode: facts.writeMode ?? null,
    key: facts.key,
    transforms: row.transforms.map((transform) => transform.type),
    delivery: row.delivery,
    delivery_guarantee: row.guarantee,
    ...listedBlocks(row),
    lineage: lineage === undefined ? null : lineage.spec.transport.type,
    // Only `plan --live` looks at the destination.
    sink_probe: null,
    metadata_columns: row.metadataColumns?.map(({ name }) => name) ?? [],
    dead_letters: row.dlq === undefined ? null : row.dlq.sink.type,
    state: row.state === undefined ? null : { type: row.state.type, key: row.stateKey },
    incremental: facts.incremental,
    undo: factsAbout('undo', row)[0]?.short ?? null,
    lane: laneName(row),
    lane_reason: row.lane.reason,
    ...typesDocument(types),
    parent: row.parent?.row ?? null,
    for_each: row.forEach,
    partition: partitionDocument(row.partition),
    shard: row.shard ?? null,
    depends_on: row.dependsOn,
    weight: row.weight ?? null,
    tags: row.tags,
    status: row.status,
  };
}

export function topologyDocument({
  nodes,
  edges,
  startsOver,
}: TopologyPlan): Record<string, unknown> {
  return {
    nodes: nodes.map(({ id, kind }) => ({ id, kind })),
    edges: edges.map(({ from, to, label, capacity, spills }) => ({
      from,
      to,
      ...(label === undefined ? {} : { as: label }),
      capacity,
      spills,
    })),
    starts_over: startsOver ?? null,
  };
}
