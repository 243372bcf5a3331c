/** From which input columns the columns of an output come, where the transforms on the way let it be told. */
import type { ColumnFlow } from '../../kit/transform.ts';
import type { NodePlan, Plan, RowPlan, TransformPlan } from '../../plan/plan.ts';
import type { RowShapes } from './samples.ts';

/** Output column to input columns. */
export type ColumnOrigins = Readonly<Record<string, readonly string[]>>;

/** `undefined` where a transform says nothing of its columns, several inputs are mixed, or nothing was sampled. Columns made of nothing are left out. */
export function columnOriginsOf(row: RowPlan, plan: Plan, shapes: RowShapes): ColumnOrigins | undefined {
  const path = plan.topology === undefined ? { source: row.id, transforms: row.transforms } : pathTo(row, plan);
  const flows = path?.transforms.map(flowOf);
  if (path === undefined || flows === undefined || flows.some(({ kind }) => kind === 'opaque') || shapes.written.length === 0)
    return undefined;
  const supplied = new Set(row.metadataColumns?.map(({ name }) => name));
  const read = new Set(shapes.read.get(path.source)?.map(({ name }) => name));
  const origins: [string, readonly string[]][] = [];
  for (const { name } of shapes.written) {
    const origin = supplied.has(name) ? undefined : originOf(name, flows);
    if (origin !== undefined && read.has(origin)) origins.push([name, [origin]]);
  }
  return Object.fromEntries(origins);
}

/** The only way from the only source to a sink of a graph. */
function pathTo(row: RowPlan, plan: Plan): { readonly source: string; readonly transforms: readonly TransformPlan[] } | undefined {
  const { nodes = [], edges = [] } = plan.topology ?? {};
  const transforms: TransformPlan[] = [];
  for (let id = row.id; ;) {
    const into = edges.filter(({ to }) => to === id);
    const node: NodePlan | undefined = nodes.find((one) => one.id === into[0]?.from);
    if (into.length !== 1 || node === undefined) return undefined;
    if (node.kind === 'source') return { source: node.id, transforms: [...transforms.toReversed(), ...row.transforms] };
    if (node.kind === 'transform') transforms.push(...node.transforms.toReversed());
    else if (node.kind !== 'tee') return undefined;
    id = node.id;
  }
}

function flowOf({ definition, parsed, judged }: TransformPlan): ColumnFlow {
  const config = parsed ?? judged;
  return config === undefined ? { kind: 'opaque' } : definition.columns(config);
}

/** Walks back from the end: the name that a column had before each transform. */
function originOf(column: string, flows: readonly ColumnFlow[]): string | undefined {
  return flows.reduceRight<string | undefined>((name, flow) => (name === undefined ? undefined : nameBefore(name, flow)), column);
}

function nameBefore(name: string, flow: ColumnFlow): string | undefined {
  switch (flow.kind) {
    case 'identity':
    case 'opaque':
      return name;
    case 'rename': {
      const before = Object.entries(flow.fields).find(([, after]) => after === name)?.[0];
      return before ?? (Object.hasOwn(flow.fields, name) ? undefined : name);
    }
    case 'select':
      return flow.fields.includes(name) ? name : undefined;
    case 'drop':
    case 'add':
      return flow.fields.includes(name) ? undefined : name;
    default:
      return flow satisfies never;
  }
}
