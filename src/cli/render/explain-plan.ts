/** A plan in plain words, for somebody who has not seen the document before. */
import { BLOCKS } from '../../blocks/index.ts';
import { replicationOf } from '../../blocks/replication/index.ts';
import { partitionDocument } from '../../blocks/partition/explain.ts';
import type { Plan, PlannedRow, TopologyPlan } from '../../plan/plan.ts';
import { count } from '../../lib/text/count.ts';
import { timesOf } from './row-times.ts';
import { factsAbout } from '../../features/plan-view/row-checks.ts';
import { factsOf, laneName, type RowFacts } from '../../features/plan-view/row-facts.ts';
import {
  formatEvidence,
  formatTypes,
  rowTypes,
  typesDocument,
  type RowTypes,
} from '../../features/plan-view/stage-types.ts';

export function introduce(plan: Plan): string[] {
  return [...parts(plan), ...occasions(plan)];
}

function parts(plan: Plan): string[] {
  const { rows } = plan;
  if (plan.topology !== undefined) {
    const others =
      plan.onError === 'stop'
        ? 'When a node fails, the others are stopped.'
        : 'When a node fails, those it does not feed go on.';
    return [
      `Pipeline ${plan.name} is a graph of ${count(plan.topology.nodes.length, 'node')} that run at the same time. ${others}`,
    ];
  }
  if (rows.length === 1) return [`Pipeline ${plan.name} moves one set of records.`];
  const onError =
    plan.onError === 'stop'
      ? 'When one fails, the others are stopped.'
      : 'When one fails, the others go on.';
  return [
    `Pipeline ${plan.name} has ${count(rows.length, 'row')}; at most ${plan.maxConcurrent} of them run at the same time. ${onError}`,
  ];
}

/** When it runs by itself, and how its past is run again. */
function occasions({ blocks }: Plan): string[] {
  return BLOCKS.flatMap((block) => {
    const planned = blocks[block.name];
    return planned === undefined || block.introduce === undefined ? [] : [block.introduce(planned)];
  });
}

/** One sentence or two for each thing a reader may wonder about. */
export function formatRow(
  row: PlannedRow,
  topology?: TopologyPlan,
  types: RowTypes = rowTypes(row),
): string[] {
  const facts = factsOf(row);
  return [
    ...(topology === undefined
      ? [reads(row, facts), ...waits(row), ...changes(row)]
      : [takes(row, topology)]),
    ...words(factsAbout('checks', row)),
    ...words(factsAbout('stamped', row)),
    writes(row, facts),
    ...words(factsAbout('dead letters', row)),
    ...words(factsAbout('retries', row)),
    ...words(factsAbout('guarantee', row)),
    ...words(factsAbout('taken over', row)),
    ...words(factsAbout('state', row)),
    ...words(factsAbout('expects', row)),
    ...words(factsAbout('undo', row)),
    travels(row),
    ...formatTypes(types).map((line) => `Types after ${line}`),
    ...formatEvidence(types.stages[0]?.schema).map((line) => `Inferred: ${line}.`),
  ];
}

function takes({ id }: PlannedRow, { edges }: TopologyPlan): string {
  return `Takes what ${list(edges.filter(({ to }) => to === id).map(({ from }) => `node ${from}`))} hands on.`;
}

function reads(row: PlannedRow, { sourceUri }: RowFacts): string {
  const from = `Reads from ${row.source.type}${sourceUri === undefined ? '' : ` (${sourceUri})`}`;
  const times = timesOf(row);
  const ranges = [...factsAbout('chunks', row), ...factsAbout('shards', row)];
  return [`${from}${times === undefined ? '' : `, ${times}`}.`, ...words(ranges)].join(' ');
}

function waits(row: PlannedRow): string[] {
  return row.dependsOn.length === 0
    ? []
    : [`Starts when ${list(row.dependsOn)} ${row.dependsOn.length === 1 ? 'is' : 'are'} done.`];
}

function changes(row: PlannedRow): string[] {
  if (row.transforms.length === 0) return ['Records are passed on unchanged.'];
  return [
    `Each record goes through ${list(
      row.transforms.map((transform) => transform.type),
      'then',
    )}.`,
  ];
}

function words(facts: readonly { readonly words: string }[]): string[] {
  return facts.map((one) => one.words);
}

function writes(row: PlannedRow, { sinkUri, writeMode, key }: RowFacts): string {
  const to = `to ${row.sink.type}${sinkUri === undefined ? '' : ` (${sinkUri})`}`;
  switch (writeMode) {
    case 'upsert':
      return `Writes ${to}: a record replaces the one with the same ${list(key)}, or is added (upsert).`;
    case 'delete':
      return `Writes ${to}: a record deletes the one with the same ${list(key)} (delete).`;
    case 'overwrite':
      return `Writes ${to}: everything that was there is replaced when the run has succeeded (overwrite).`;
    case 'append':
      return `Writes ${to}: records are added (append).`;
    default:
      return `Writes ${to}; how is settled when the row runs.`;
  }
}

function travels({ lane: { lane, reason } }: PlannedRow): string {
  const why = reason.replace(/^(records|columns|bytes): /, '');
  if (lane.form === 'bytes')
    return `Records travel as raw ${lane.encoding} bytes, without being taken apart: ${why}.`;
  if (lane.form === 'columns')
    return `Records travel as columns of cells, of which only those that are looked at are read: ${why}.`;
  return `Records are parsed on the way: ${why}.`;
}

function list(names: readonly string[], word = 'and'): string {
  if (names.length <= 1) return names.join('');
  const comma = word === 'then' ? ', ' : ' ';
  return `${names.slice(0, -1).join(', ')}${comma}${word} ${names.at(-1)}`;
}

export function explainDocument(
  plan: Plan,
  typesOf: (row: PlannedRow) => RowTypes = rowTypes,
): Record<string, unknown> {
  const rows = plan.rows.map((row) => rowDocument(row, typesOf(row)));
  return {
    pipeline: plan.name,
    rows_total: rows.length,
    roots: plan.rows.filter((row) => row.role === 'root').length,
    children: plan.rows.filter((row) => row.role === 'child').length,
    products: plan.rows.filter((row) => row.role === 'product').length,
    discoveries: plan.fanOuts.map(({ id, role, source, alias, forEach }) => ({
      id,
      role,
      source: source.type,
      as: alias,
      for_each: forEach,
    })),
    incremental_rows: rows.filter((row) => row['incremental'] === true).length,
    ...replicationDocument(plan),
    rows,
  };
}

function replicationDocument(plan: Plan): Record<string, unknown> {
  const replication = replicationOf(plan);
  if (replication === undefined) return {};
  const { source, continuous } = replication;
  const mode = 'snapshot_then_cdc';
  return { replication: { mode, snapshot: { source: source?.type ?? null }, continuous } };
}

function rowDocument(row: PlannedRow, types: RowTypes): Record<string, unknown> {
  const facts = factsOf(row);
  return {
    id: row.id,
    role: row.role,
    ...(row.parent === undefined ? {} : { parent: row.parent.row }),
    ...(row.forEach.length === 0 ? {} : { for_each: row.forEach }),
    ...(row.partition === undefined ? {} : { partition: partitionDocument(row.partition) }),
    ...(row.shard === undefined ? {} : { shard: row.shard }),
    source: row.source.type,
    transforms: row.transforms.map((transform) => transform.type),
    sink: row.sink.type,
    ...(facts.writeMode === undefined ? {} : { write_mode: facts.writeMode }),
    ...(facts.key.length === 0 ? {} : { key: facts.key }),
    delivery_guarantee: row.guarantee,
    ...(row.state === undefined ? {} : { state: row.state.type, state_key: row.stateKey }),
    incremental: facts.incremental,
    dead_letters: row.dlq === undefined ? null : row.dlq.sink.type,
    lane: laneName(row),
    lane_reason: row.lane.reason,
    ...typesDocument(types),
  };
}
