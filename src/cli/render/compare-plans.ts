/**
 * What is different between two plans, in words; settings are named, never shown, because they may
 * hold secrets.
 */
import type { BlockDefinition, FactTopic } from '../../blocks/define-block.ts';
import { BLOCKS } from '../../blocks/index.ts';
import { hasField, jsonEqual, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { DlqPlan } from '../../blocks/dlq/plan.ts';
import type {
  PlannedPart,
  Plan,
  PlannedRow,
  TopologyPlan,
  PlannedTransform,
} from '../../plan/plan.ts';
import { factsAbout } from '../../features/plan-view/row-checks.ts';
import { factsOf, laneName } from '../../features/plan-view/row-facts.ts';

export interface PlanChange {
  /** `null` for what concerns the plan as a whole. */
  readonly row: string | null;
  readonly what: string;
  readonly before: string | null;
  readonly after: string | null;
  /** What to look out for. */
  readonly warning?: string;
}

export function comparePlans(was: Plan, now: Plan): readonly PlanChange[] {
  return [...compareGraphs(was.topology, now.topology), ...compareRowsOf(was, now)];
}

function compareGraphs(was: TopologyPlan | undefined, now: TopologyPlan | undefined): PlanChange[] {
  const nodes = (graph: TopologyPlan | undefined): string | null =>
    graph === undefined ? null : listed(graph.nodes.map(({ id, kind }) => `${id} (${kind})`));
  const edges = (graph: TopologyPlan | undefined): string | null =>
    graph === undefined
      ? null
      : listed(
          graph.edges.map(
            ({ from, to, label }) => `${from} → ${to}${label === undefined ? '' : ` (${label})`}`,
          ),
        );
  return [
    ...changed(null, 'nodes', nodes(was), nodes(now)),
    ...changed(null, 'edges', edges(was), edges(now)),
    ...compareNodes(was, now),
  ];
}

/** The order in which they are written says nothing. */
function listed(names: readonly string[]): string {
  return names.toSorted().join(', ');
}

function compareNodes(was: TopologyPlan | undefined, now: TopologyPlan | undefined): PlanChange[] {
  return (now?.nodes ?? []).flatMap((node) => {
    const old = was?.nodes.find(({ id }) => id === node.id);
    const what = `node ${node.id}`;
    if (node.kind === 'source' && old?.kind === 'source')
      return comparePart(null, what, old.source, node.source);
    if (node.kind === 'transform' && old?.kind === 'transform')
      return compareTransforms({ row: null, place: `${what}, ` }, old.transforms, node.transforms);
    if (node.kind === 'join' && old?.kind === 'join')
      return compareBlock(null, what, old.join, node.join);
    return [];
  });
}

function compareRowsOf(before: Plan, after: Plan): readonly PlanChange[] {
  const old = new Map(before.rows.map((row) => [row.id, row]));
  const now = new Set(after.rows.map((row) => row.id));
  return [
    ...changed(null, 'name', before.name, after.name),
    ...changed(null, 'rows at a time', String(before.maxConcurrent), String(after.maxConcurrent)),
    ...changed(null, 'on error', before.onError, after.onError),
    ...before.rows.filter((row) => !now.has(row.id)).map(gone),
    ...after.rows.flatMap((row) => {
      const was = old.get(row.id);
      return was === undefined ? [added(row)] : compareRows(was, row);
    }),
  ];
}

function gone(row: PlannedRow): PlanChange {
  const change = {
    row: row.id,
    what: 'row',
    before: `${row.source.type} → ${row.sink.type}`,
    after: null,
  };
  return factsOf(row).incremental
    ? { ...change, warning: `its bookmark stays behind under ${row.stateKey}` }
    : change;
}

function added(row: PlannedRow): PlanChange {
  const change = {
    row: row.id,
    what: 'row',
    before: null,
    after: `${row.source.type} → ${row.sink.type}`,
  };
  return factsOf(row).incremental
    ? {
        ...change,
        warning: `it has no bookmark under ${row.stateKey} yet, unless it had one before: its first run reads everything`,
      }
    : change;
}

function compareRows(was: PlannedRow, row: PlannedRow): PlanChange[] {
  const [before, after] = [factsOf(was), factsOf(row)];
  const differing = (what: string, a: string | undefined, b: string | undefined): PlanChange[] =>
    changed(row.id, what, a ?? null, b ?? null);
  return [
    ...comparePart(row.id, 'source', was.source, row.source),
    ...compareTransforms({ row: row.id, place: '' }, was.transforms, row.transforms),
    ...comparePart(row.id, 'sink', was.sink, row.sink),
    ...differing('write mode', before.writeMode, after.writeMode),
    ...differing('key', before.key.join(', '), after.key.join(', ')),
    ...compareSettings(was, row, 'pipeline'),
    ...differing(
      'stamped columns',
      inShort('stamped', was) || undefined,
      inShort('stamped', row) || undefined,
    ),
    ...compareDeadLetters(was, row),
    ...differing('retries', inShort('retries', was), inShort('retries', row)),
    ...differing('expects', inShort('expects', was), inShort('expects', row)),
    ...differing('undo', inShort('undo', was), inShort('undo', row)),
    ...compareSettings(was, row, 'top'),
    ...compareBlock(row.id, 'adaptive_batch_size', was.adaptiveBatch, row.adaptiveBatch),
    ...compareBlock(row.id, 'partition', was.partition?.spec, row.partition?.spec),
    ...compareBlock(row.id, 'shard', was.shard, row.shard),
    ...differing('delivery', was.delivery, row.delivery),
    ...differing('guarantee', was.guarantee, row.guarantee),
    ...differing('lane', laneName(was), laneName(row)),
    ...differing('parent', was.parent?.row, row.parent?.row),
    ...differing('runs for each', was.forEach.join(', '), row.forEach.join(', ')),
    ...differing('waits for', was.dependsOn.join(', '), row.dependsOn.join(', ')),
    ...compareState(was, row),
  ];
}

function changed(
  row: string | null,
  what: string,
  before: string | null,
  after: string | null,
): PlanChange[] {
  return before === after ? [] : [{ row, what, before, after }];
}

function comparePart(
  row: string | null,
  what: string,
  was: PlannedPart<unknown>,
  part: PlannedPart<unknown>,
): PlanChange[] {
  if (was.type !== part.type) return changed(row, what, was.type, part.type);
  const keys = differingKeys(was.config, part.config);
  return keys.length === 0
    ? []
    : [{ row, what: `settings of the ${what}`, before: null, after: keys.join(', ') }];
}

function inShort(topic: FactTopic, row: PlannedRow): string {
  return factsAbout(topic, row)
    .map(({ short }) => short)
    .join(', ');
}

function compareSettings(
  was: PlannedRow,
  row: PlannedRow,
  placement: BlockDefinition['placement'],
): PlanChange[] {
  return BLOCKS.filter((block) => block.placement === placement).flatMap((block) => {
    const settings = ({ blocks }: PlannedRow): unknown =>
      blocks[block.name] === undefined ? undefined : block.settings?.(blocks[block.name]);
    return compareBlock(row.id, block.name, settings(was), settings(row));
  });
}

function compareDeadLetters({ dlq: was }: PlannedRow, { id, dlq }: PlannedRow): PlanChange[] {
  if (was === undefined || dlq === undefined)
    return changed(id, 'dead letters', was?.sink.type ?? null, dlq?.sink.type ?? null);
  return [
    ...comparePart(id, 'dead letters', was.sink, dlq.sink),
    ...compareBlock(id, 'dlq', limitsOf(was), limitsOf(dlq)),
  ];
}

function limitsOf({ onBatchError, maxFailuresPerPage, maxFailuresTotal }: DlqPlan): JsonObject {
  return asJson({
    on_batch_error: onBatchError,
    max_failures_per_page: maxFailuresPerPage,
    max_failures_total: maxFailuresTotal,
  });
}

function compareTransforms(
  { row, place }: { readonly row: string | null; readonly place: string },
  was: readonly PlannedTransform[],
  now: readonly PlannedTransform[],
): PlanChange[] {
  const types = (list: readonly PlannedTransform[]): string =>
    list.map(({ type }) => type).join(' → ');
  if (types(was) !== types(now)) return changed(row, `${place}transforms`, types(was), types(now));
  return now.flatMap((transform, index) => {
    const keys = differingKeys(was[index]?.config ?? {}, transform.config);
    return keys.length === 0
      ? []
      : [
          {
            row,
            what: `settings of ${place}transform ${index + 1} (${transform.type})`,
            before: null,
            after: keys.join(', '),
          },
        ];
  });
}

function differingKeys(before: JsonObject, after: JsonObject): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys]
    .filter(
      (key) =>
        hasField(before, key) !== hasField(after, key) || !jsonEqual(before[key], after[key]),
    )
    .sort();
}

function compareBlock(row: string | null, block: string, was: unknown, now: unknown): PlanChange[] {
  if ((was === undefined) !== (now === undefined))
    return changed(
      row,
      block,
      was === undefined ? null : 'there',
      now === undefined ? null : 'there',
    );
  const same = jsonEqual(asJson(was), asJson(now));
  return same
    ? []
    : [
        {
          row,
          what: `settings of ${block}`,
          before: null,
          after: differingKeys(asJson(was), asJson(now)).join(', '),
        },
      ];
}

/** Blocks are plain data; what is absent in one may be `undefined` in the other. */
function asJson(block: unknown): JsonObject {
  return block === undefined
    ? {}
    : (JSON.parse(JSON.stringify(block)) as Record<string, JsonValue>);
}

/** A bookmark is found by store and key: when either is another one, the next run finds none. */
function compareState(was: PlannedRow, row: PlannedRow): PlanChange[] {
  const [before, after] = [was.state, row.state];
  const moved =
    before !== undefined &&
    after !== undefined &&
    (was.stateKey !== row.stateKey ||
      before.type !== after.type ||
      differingKeys(before.config, after.config).length > 0);
  const lost = factsOf(was).incremental && (after === undefined || moved);
  const warning = lost
    ? { warning: 'the next run finds no bookmark and reads everything again' }
    : {};
  if (!moved && (before === undefined) === (after === undefined)) return [];
  const describe = (plan: PlannedRow): string | null =>
    plan.state === undefined ? null : `${plan.state.type}, key ${plan.stateKey}`;
  return [{ row: row.id, what: 'state', before: describe(was), after: describe(row), ...warning }];
}
