/**
 * What each node of a graph does to the first records of its sources: the nodes one after the other,
 * on a sample that is held whole.
 */
import { onlyBlocks } from '../../blocks/define-block.ts';
import { UNKNOWN_SCHEMA, type RecordSchema } from '../../kit/record-schema.ts';
import { messageOf } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { JoinSpec } from '../../document/structure/topology.ts';
import type { Plan, PlannedEdge, PlannedNode, PlannedRow, TopologyPlan } from '../../plan/plan.ts';
import { nodeMaskOf } from '../dlq/hide-dead-letter.ts';
import type { ExecuteOptions } from '../engine.ts';
import { hideAll, hideValues, type HideRecord } from '../stages/hide-masked.ts';
import { Join } from '../topology/join.ts';
import { joinedSchema } from '../topology/joined-schema.ts';
import { nodesBehind, transformsOf } from '../topology/node-queue.ts';
import { firstRecords } from './first-records.ts';
import { traceStages, type SampleTrace, type StageTrace } from './trace-stages.ts';

/** What a node hands on of a sample; a join can make many records of few. */
export const MOST_HANDED_ON = 500;
const JOIN_MEMORY_BYTES = 4 * 1024 * 1024;

/** What masking hides at a sink is hidden at every node before it. */
export interface NodeTrace {
  readonly node: string;
  readonly kind: PlannedNode['kind'];
  /** Of a source or a sink. */
  readonly connector: string | undefined;
  readonly inputs: readonly {
    readonly from: string;
    /** What a join calls it. */
    readonly label: string | undefined;
    readonly records: readonly JsonValue[];
  }[];
  /** Of transform nodes and sinks. */
  readonly stages: readonly StageTrace[];
  /** What it hands on; what a sink would be given. */
  readonly output: readonly JsonValue[];
  /** Why the run would end here. */
  readonly error: string | undefined;
}

export interface TraceGraphOptions extends Pick<
  ExecuteOptions,
  'plan' | 'parts' | 'env' | 'clock' | 'signal'
> {
  /** Records of each source. */
  readonly limit: number;
  /** Shows only this node, and what leads to it. */
  readonly node?: string | undefined;
}

/** Each node after those that feed it. No sink and no state store is opened. */
export async function traceGraph(options: TraceGraphOptions): Promise<readonly NodeTrace[]> {
  const { topology } = options.plan;
  const [anyRow] = options.plan.rows;
  if (topology === undefined || anyRow === undefined)
    throw new Error('cannot happen: the plan has no graph');
  const wanted = options.node === undefined ? undefined : nodesBefore(options.node, topology);
  const sample = new GraphSample(options, topology, anyRow);
  const traces: NodeTrace[] = [];
  for (const node of topology.nodes)
    if (wanted === undefined || wanted.has(node.id)) traces.push(await sample.trace(node));
  return traces;
}

interface Handed {
  readonly records: readonly JsonValue[];
  readonly schema: RecordSchema | undefined;
}

interface Input extends Handed {
  readonly edge: PlannedEdge;
}

interface Worked extends Handed {
  readonly stages?: readonly StageTrace[];
  readonly error?: string | undefined;
}

class GraphSample {
  readonly #options: TraceGraphOptions;
  readonly #topology: TopologyPlan;
  /** What all nodes have of a row; it has no stages of its own. */
  readonly #bare: PlannedRow;
  readonly #handed = new Map<string, Handed>();

  constructor(options: TraceGraphOptions, topology: TopologyPlan, anyRow: PlannedRow) {
    this.#options = options;
    this.#topology = topology;
    this.#bare = { ...anyRow, transforms: [], blocks: onlyBlocks(anyRow, []) };
  }

  async trace(node: PlannedNode): Promise<NodeTrace> {
    const inputs = this.#topology.edges
      .filter(({ to }) => to === node.id)
      .map((edge): Input => ({ edge, ...(this.#handed.get(edge.from) ?? NOTHING) }));
    const worked = await this.#work(node, inputs);
    const records = worked.error === undefined ? worked.records.slice(0, MOST_HANDED_ON) : [];
    this.#handed.set(node.id, { records, schema: worked.schema });
    return this.#shown(node, inputs, { ...worked, records });
  }

  async #work(node: PlannedNode, inputs: readonly Input[]): Promise<Worked> {
    const [first = NOTHING] = inputs;
    switch (node.kind) {
      case 'source': {
        const row = { ...this.#rowOf(), id: node.id, source: node.source };
        return firstRecords({ ...this.#options, row });
      }
      case 'transform':
        return this.#stages({ ...this.#bare, id: node.id, transforms: node.transforms }, first);
      case 'sink':
        return this.#stages({ ...this.#rowOf(node.id), transforms: [] }, first);
      case 'tee':
        return first;
      case 'merge': {
        const isCommon = inputs.every(({ schema }) => schema === first.schema);
        return {
          records: inputs.flatMap(({ records }) => records),
          schema: isCommon ? first.schema : undefined,
        };
      }
      case 'join':
        return joined(node.join, inputs);
      default:
        return node satisfies never;
    }
  }

  async #stages(row: PlannedRow, { records, schema }: Handed): Promise<Worked> {
    const trace: SampleTrace = await traceStages({ ...this.#options, row, records, schema });
    const { stages, output, error, types } = trace;
    return { records: output, stages, error, schema: types.at(-1)?.schema };
  }

  #rowOf(sink?: string): PlannedRow {
    const { rows } = this.#options.plan;
    const row = sink === undefined ? rows[0] : rows.find(({ id }) => id === sink);
    if (row === undefined) throw new Error(`cannot happen: sink node ${sink} has no row`);
    return row;
  }

  #shown(node: PlannedNode, inputs: readonly Input[], worked: Worked): NodeTrace {
    const hiderAt = (at: number | 'output') => hiderInGraph(this.#options.plan, node, at);
    const before = hiderAt(0);
    const { text } = hideValues(
      before,
      inputs.flatMap(({ records }) => records),
    );
    const isSink = node.kind === 'sink';
    const { stages = [], records, error } = worked;
    return {
      node: node.id,
      kind: node.kind,
      connector: this.#connectorOf(node),
      inputs: inputs.map(({ edge, records: given }) => ({
        from: edge.from,
        label: edge.label,
        records: given.map(before),
      })),
      // A sink has masked them already, by the rules that apply to it.
      stages: isSink ? stages : stages.map((stage, at) => hiddenStage(stage, hiderAt, at)),
      output: isSink ? records : records.map(hiderAt('output')),
      error: error === undefined ? undefined : this.#options.env.redactor.text(text(error)),
    };
  }

  #connectorOf(node: PlannedNode): string | undefined {
    if (node.kind === 'source') return node.source.type;
    return node.kind === 'sink' ? this.#rowOf(node.id).sink.type : undefined;
  }
}

const NOTHING: Handed = { records: [], schema: undefined };

function joined(spec: JoinSpec, inputs: readonly Input[]): Worked {
  const side = (label: string): Handed =>
    inputs.find(({ edge }) => edge.label === label) ?? NOTHING;
  const [build, probe] = [side(spec.build.edge), side(spec.probe.edge)];
  const join = new Join({ spec, ownsProbe: false, memoryBytes: JOIN_MEMORY_BYTES });
  try {
    join.build(build.records);
    return {
      records: join.probe(probe.records),
      schema: joinedSchema(spec, build.schema, probe.schema ?? UNKNOWN_SCHEMA),
    };
  } catch (error) {
    return { ...NOTHING, error: messageOf(error) };
  } finally {
    join.close();
  }
}

/**
 * For records as the transform of this index of a node gets them, or as the node hands them on: what
 * masking hides later. Where names cannot be followed, all is hidden.
 */
function hiderInGraph(
  { topology, rows }: Plan,
  node: PlannedNode,
  at: number | 'output',
): HideRecord {
  const [row] = rows;
  if (topology === undefined || row === undefined) return hideAll;
  const ahead = new Set(nodesBehind(node.id, topology));
  const isTransform = node.kind === 'transform';
  if (isTransform || (node.kind === 'join' && at === 'output')) ahead.delete(node.id);
  const own = isTransform && at !== 'output' ? node.transforms.slice(at) : [];
  const later = transformsOf(ahead, topology);
  return nodeMaskOf(row, later && [...own, ...later]) ?? ((record) => record);
}

function hiddenStage(
  stage: StageTrace,
  hiderAt: (at: number) => HideRecord,
  at: number,
): StageTrace {
  const [before, after] = [hiderAt(at), hiderAt(at + 1)];
  return {
    ...stage,
    before: stage.before.map(before),
    after: stage.after.map(after),
    dead: stage.dead.map((dead) => ({
      ...dead,
      record: before(dead.record),
      // The reason may quote a value.
      message: hideValues(before, [dead.record]).text(dead.message),
    })),
  };
}

/** The node, and all that its records come from. */
function nodesBefore(id: string, { edges }: TopologyPlan): ReadonlySet<string> {
  const reached = new Set([id]);
  // A set grows while it is walked.
  for (const one of reached) for (const { from, to } of edges) if (to === one) reached.add(from);
  return reached;
}
