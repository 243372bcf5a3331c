/**
 * The input columns that each output column comes from, where the transforms between allow to know.
 */
import type { ColumnFlow } from '../../kit/transform.ts';
import type { PlannedNode, Plan, PlannedRow, PlannedTransform } from '../../plan/plan.ts';
import type { RowShapes } from './samples.ts';

/** Output column to input columns. */
export type ColumnOrigins = Readonly<Record<string, readonly string[]>>;

/**
 * `undefined` where a transform says nothing of its columns, several inputs are mixed, or nothing
 * was sampled. Columns made of nothing are left out.
 */
export function columnOriginsOf(
  row: PlannedRow,
  plan: Plan,
  shapes: RowShapes,
): ColumnOrigins | undefined {
  const path =
    plan.topology === undefined
      ? { source: row.id, transforms: row.transforms }
      : pathTo(row, plan);
  const flows = path?.transforms.map(flowOf);
  if (
    path === undefined ||
    flows === undefined ||
    flows.some(({ kind }) => kind === 'opaque') ||
    shapes.written.length === 0
  )
    return undefined;
  const supplied = new Set(row.metadataColumns?.map(({ name }) => name));
  const read = new Set(shapes.read.get(path.source)?.map(({ name }) => name));
  const origins: [string, readonly string[]][] = [];
  for (const { name } of shapes.written) {
    const known = supplied.has(name)
      ? []
      : originsOf(name, flows).filter((origin) => read.has(origin));
    if (known.length > 0) origins.push([name, known]);
  }
  return Object.fromEntries(origins);
}

/** The only way from the only source to a sink of a graph. */
function pathTo(
  row: PlannedRow,
  plan: Plan,
): { readonly source: string; readonly transforms: readonly PlannedTransform[] } | undefined {
  const { nodes = [], edges = [] } = plan.topology ?? {};
  const transforms: PlannedTransform[] = [];
  for (let id = row.id; ;) {
    const into = edges.filter(({ to }) => to === id);
    const node: PlannedNode | undefined = nodes.find((one) => one.id === into[0]?.from);
    if (into.length !== 1 || node === undefined) return undefined;
    if (node.kind === 'source')
      return { source: node.id, transforms: [...transforms.toReversed(), ...row.transforms] };
    if (node.kind === 'transform') transforms.push(...node.transforms.toReversed());
    else if (node.kind !== 'tee') return undefined;
    id = node.id;
  }
}

function flowOf({ definition, parsed, judged }: PlannedTransform): ColumnFlow {
  const config = parsed ?? judged;
  return config === undefined ? { kind: 'opaque' } : definition.columns(config);
}

/** Walks back from the end: which columns it was before each transform. */
function originsOf(column: string, flows: readonly ColumnFlow[]): readonly string[] {
  return flows.reduceRight<readonly string[]>(
    (names, flow) => [...new Set(names.flatMap((name) => namesBefore(name, flow)))],
    [column],
  );
}

function namesBefore(name: string, flow: ColumnFlow): readonly string[] {
  switch (flow.kind) {
    case 'identity':
    case 'opaque':
      return [name];
    case 'rename': {
      const before = Object.entries(flow.fields).find(([, after]) => after === name)?.[0];
      if (before !== undefined) return [before];
      return Object.hasOwn(flow.fields, name) ? [] : [name];
    }
    case 'select':
      return flow.fields.includes(name) ? [name] : [];
    case 'drop':
    case 'add':
      return flow.fields.includes(name) ? [] : [name];
    case 'derive':
      return Object.hasOwn(flow.fields, name) ? (flow.fields[name] ?? []) : [name];
    default:
      return flow satisfies never;
  }
}
