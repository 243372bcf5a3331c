/**
 * Nodes and edges to a plan: each sink node becomes a row, and the graph between sources and sinks
 * a plan of its own.
 */
import { z } from 'zod';
import { defineSource, type SourceCapabilities, type SourceDefinition } from '../kit/source.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import type { NodeSpec } from '../document/structure/topology.ts';
import { dlqBlock } from '../blocks/dlq/index.ts';
import { planDlq, type DlqPlan } from '../blocks/dlq/plan.ts';
import { stateBlock } from '../blocks/state/index.ts';
import { parsedBlock, type Placed } from '../document/parse/read-blocks.ts';
import { joinPath } from '../lib/text/text-path.ts';
import { checkAuthRef } from './rules/auth.ts';
import { refuseOwnSource } from './rules/outputs.ts';
import { checkTokens, type TokenScope } from './rules/row-tokens.ts';
import { checkBesideNodes, checkNodePreset } from './rules/topology.ts';
import { resolvePart, type ResolvedPart } from './resolve-part.ts';
import type { AssembledPart } from './plan-part.ts';
import { grantedTokens, isQuarantining } from './plan-blocks.ts';
import { planRowParts } from './plan-row.ts';
import { plainPart } from './resolve-part.ts';
import type { RowContext } from './row-context.ts';
import type { PlannedNode, TopologyPlan, PlannedTransform } from './plan.ts';
import type { AssembledRow } from './assembled-row.ts';
import { blocksOfDocument, type ResolvedRows } from './resolve-rows.ts';
import type { ResolvedRow } from './resolved-row.ts';
import { planEdges } from './topology-edges.ts';
import { checkGraph, type Graph } from './topology-graph.ts';

export interface PlannedTopology {
  /** The sink nodes as rows. */
  readonly resolved: ResolvedRows;
  readonly rows: readonly AssembledRow[];
  /** Presets that nodes start from. */
  readonly parts: readonly Pick<ResolvedRow, 'source' | 'sink'>[];
  /** `undefined` when the graph cannot run. */
  readonly topology: TopologyPlan | undefined;
}

interface SourceNode {
  readonly id: string;
  readonly resolved: ResolvedPart | undefined;
  readonly planned: AssembledPart<SourceDefinition> | undefined;
}

type OfKind<K extends NodeSpec['kind']> = Extract<NodeSpec, { kind: K }>;
type NodeOf<K extends NodeSpec['kind']> = Placed<OfKind<K>> & { readonly id: string };

/** `undefined` for a document without nodes. */
export function planTopology(context: RowContext): PlannedTopology | undefined {
  const { blocks, issues } = context;
  const { nodes, edges } = blocks.pipeline;
  if (nodes === undefined) return undefined;
  checkBesideNodes(context);
  const graph = checkGraph(nodes, edges, issues);
  const ofKind = <K extends NodeSpec['kind']>(kind: K): NodeOf<K>[] =>
    [...nodes].flatMap(([id, placed]) =>
      placed?.value.kind === kind
        ? [{ id, path: placed.path, value: placed.value as OfKind<K> }]
        : [],
    );
  const sources = ofKind('source').map((node) => planSource(node, context));
  const assembled = ofKind('transform').map(
    (node) => [node.id, planTransforms(node, context)] as const,
  );
  const transforms = new Map(
    assembled.map(([id, parts]) => [id, parts.map(({ plan }) => plan)] as const),
  );
  const shape = shapeOf({
    sources: sources.length,
    joins: ofKind('join'),
    merges: ofKind('merge'),
  });
  const sinks = ofKind('sink').map((node, index) =>
    resolveSink(node, index, { context, limit: shape.exactlyOnceLimit }),
  );
  warnAboutState(context, shape.startsOver);
  const rows = sinks.map((resolved) => {
    const reaching = sources.filter(
      ({ id }) => graph === undefined || reaches(graph, id, resolved.id),
    );
    return planRowParts(resolved, context, readerOf(reaching, shape.startsOver));
  });
  checkQueue(
    [
      ...sources.flatMap(({ planned }) => planned ?? []),
      ...assembled.flatMap(([, parts]) => parts),
    ],
    context,
  );
  const [first] = rows;
  for (const row of rows)
    for (const source of sources) if (row !== undefined) refuseToWriteSource(row, source, context);
  return {
    resolved: { rows: sinks, fanOuts: [], lists: new Map() },
    rows: rows.filter((row) => row !== undefined),
    parts: [...sinks, ...sources.map(({ resolved }) => ({ source: resolved, sink: undefined }))],
    topology:
      graph === undefined
        ? undefined
        : assemble(graph, {
            sources,
            transforms,
            startsOver: shape.startsOver,
            dlq: first === undefined ? undefined : planDlq(first).dlq,
          }),
  };
}

/** Nodes run once: there are no rows whose records a token could name. */
const NO_RECORDS: Omit<TokenScope, 'owner' | 'granted' | 'definitions'> = {
  parent: undefined,
  forEach: [],
  ids: [],
  lists: new Map(),
};

function planSource({ id, path, value }: NodeOf<'source'>, context: RowContext): SourceNode {
  const { blocks, issues, planner, parts } = context;
  const { sources: presets, present } = blocks.pipeline;
  const preset = presets.get(value.ref ?? 'default');
  if (preset !== undefined) checkNodePreset(preset, id, context);
  const resolved = resolvePart(
    { role: 'source', own: value, presets, registry: parts.sources, path, ownPath: path, present },
    issues,
  );
  if (resolved === undefined) return { id, resolved, planned: undefined };
  checkAuthRef(resolved, blocks, issues);
  const planned = planner.plan<SourceDefinition>(resolved, parts.sources, 'source');
  if (planned !== undefined) {
    const user = { resolved, tokens: planned.tokens, own: planned.plan.definition.ownTokens };
    const scope = {
      ...NO_RECORDS,
      owner: `source node \`${id}\``,
      granted: grantedTokens(context, new Map()),
      definitions: context.definitions,
    };
    checkTokens(user, scope, issues);
  }
  return { id, resolved, planned };
}

function planTransforms(
  { path, value }: NodeOf<'transform'>,
  { planner, parts }: RowContext,
): AssembledPart<TransformDefinition>[] {
  return (value.transforms ?? []).flatMap((entry, index) => {
    const resolved = plainPart({ path: joinPath(path, 'transforms', index), value: entry });
    return planner.plan<TransformDefinition>(resolved, parts.transforms, 'transform') ?? [];
  });
}

/** What nodes before the sinks put aside goes to the queue of the document. */
function checkQueue(
  nodeParts: readonly (AssembledPart<SourceDefinition> | AssembledPart<TransformDefinition>)[],
  { blocks, issues }: RowContext,
): void {
  if (parsedBlock(blocks, dlqBlock) !== undefined) return;
  for (const part of nodeParts) {
    if (!isQuarantining(part)) continue;
    const { type, path } = part.plan;
    const message = `\`${type}\` sends records to the dead-letter queue, but the graph has no \`dlq\``;
    const remedy = 'add a `dlq` with a `sink` to `pipeline`, or use another `on_error`';
    issues.error('dlq_required', path, message, remedy);
  }
}

function resolveSink(
  { id, path, value }: NodeOf<'sink'>,
  index: number,
  { context, limit }: { readonly context: RowContext; readonly limit: string | undefined },
): ResolvedRow {
  const { blocks, issues } = context;
  const { sinks: presets, present } = blocks.pipeline;
  return {
    id,
    index,
    path,
    parent: undefined,
    dependsOn: [],
    forEach: [],
    source: undefined,
    sink: resolvePart(
      {
        role: 'sink',
        own: value,
        presets,
        registry: context.parts.sinks,
        path,
        ownPath: path,
        present,
      },
      issues,
    ),
    transforms: [],
    blocks: blocksOfDocument(context),
    cuts: [],
    weight: undefined,
    tags: [],
    status: 'active',
    node: { exactlyOnceLimit: limit },
  };
}

interface Shape {
  readonly startsOver: string | undefined;
  /** What of the graph keeps its sinks from delivering exactly once. */
  readonly exactlyOnceLimit: string | undefined;
}

/** A position says something only where every sink has seen all that comes before it. */
function shapeOf(graph: {
  readonly sources: number;
  readonly joins: readonly { readonly id: string }[];
  readonly merges: readonly { readonly id: string }[];
}): Shape {
  const [[join], [merge]] = [graph.joins, graph.merges];
  const startsOver =
    graph.sources > 1
      ? `the graph has ${graph.sources} source nodes, and a position is of one source`
      : join === undefined
        ? undefined
        : `join \`${join.id}\` needs its build side from the beginning`;
  const mixing =
    merge === undefined
      ? undefined
      : `merge \`${merge.id}\` mixes pages, so that they have no sequence`;
  return { startsOver, exactlyOnceLimit: startsOver ?? mixing };
}

function warnAboutState({ blocks, issues }: RowContext, startsOver: string | undefined): void {
  const state = parsedBlock(blocks, stateBlock);
  if (state === undefined || startsOver === undefined) return;
  issues.warn(
    'state_unused',
    state.path,
    `every run reads everything, and no bookmark is stored: ${startsOver}`,
  );
}

function reaches({ edges }: Graph, from: string, to: string): boolean {
  const reached = new Set([from]);
  // A set grows while it is walked.
  for (const id of reached) for (const edge of edges) if (edge.from === id) reached.add(edge.to);
  return reached.has(to);
}

/**
 * What stands for the graph where a row names its source. It is described, never opened: the engine
 * puts an edge in its place.
 */
function readerOf(
  reaching: readonly SourceNode[],
  startsOver: string | undefined,
): AssembledPart<SourceDefinition> {
  const planned = reaching.flatMap((source) =>
    source.planned === undefined ? [] : [source.planned],
  );
  const [first] = planned;
  const type = [...new Set(planned.map(({ plan }) => plan.type))].join('+') || 'source';
  const own =
    first?.judged === undefined ? undefined : first.plan.definition.capabilities(first.judged);
  const known: SourceCapabilities | undefined =
    startsOver !== undefined
      ? { replay: 'none', bookmarks: false, encodings: [] }
      : own === undefined
        ? undefined
        : { ...own, encodings: [], columns: false };
  const definition = defineSource({
    type,
    description: 'What reaches a sink node.',
    config: z.strictObject({}),
    examples: [],
    capabilities: () => known ?? { replay: 'none', bookmarks: false, encodings: [] },
    datasetUri: () =>
      planned
        .map(({ plan, judged }) =>
          judged === undefined ? plan.type : plan.definition.datasetUri(judged),
        )
        .join(', '),
    open: () => Promise.reject(new Error('cannot happen: a sink node reads from its edge')),
  });
  const path = first?.plan.path ?? 'pipeline.nodes';
  const plan = {
    path,
    type,
    preset: 'default',
    definition,
    config: {},
    deferred: false,
    parsed: {},
    judged: {},
  };
  // Not judged where nothing is kept anyway: one warning of the graph says so, instead of one for
  // each sink.
  return {
    plan: Object.freeze(plan),
    judged: startsOver === undefined && known !== undefined ? {} : undefined,
    tokens: [],
  };
}

/** Nodes run at the same time: no sink may replace what any source of the graph reads. */
function refuseToWriteSource(
  row: AssembledRow,
  { planned }: SourceNode,
  { issues }: RowContext,
): void {
  if (planned !== undefined) refuseOwnSource({ ...row, source: planned }, issues);
}

interface Parts {
  readonly sources: readonly SourceNode[];
  readonly transforms: ReadonlyMap<string, readonly PlannedTransform[]>;
  readonly startsOver: string | undefined;
  readonly dlq: DlqPlan | undefined;
}

function assemble(graph: Graph, { sources, transforms, startsOver, dlq }: Parts): TopologyPlan {
  const nodes = graph.nodes.flatMap(({ id, path, spec }): PlannedNode[] => {
    switch (spec.kind) {
      case 'source': {
        const planned = sources.find((source) => source.id === id)?.planned;
        return planned === undefined ? [] : [{ id, path, kind: 'source', source: planned.plan }];
      }
      case 'transform':
        return [{ id, path, kind: 'transform', transforms: transforms.get(id) ?? [] }];
      case 'join':
        return [{ id, path, kind: 'join', join: spec }];
      case 'tee':
      case 'merge':
      case 'sink':
        return [{ id, path, kind: spec.kind }];
      default:
        return spec satisfies never;
    }
  });
  return Object.freeze({ nodes, edges: planEdges(graph), startsOver, dlq });
}
