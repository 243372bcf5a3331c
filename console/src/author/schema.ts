/** What may stand at a place of a document, by the JSON Schema of documents. */
import type { Level } from './place.ts';

export interface SchemaNode {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, SchemaNode>>;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly allOf?: readonly SchemaNode[];
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  readonly if?: SchemaNode;
  readonly then?: SchemaNode;
}

export interface Offer {
  readonly label: string;
  readonly description: string;
  /** It opens a map or a list. */
  readonly opens: 'map' | 'list' | undefined;
  readonly isRequired: boolean;
}

/** The parts of a schema that hold for a map with these values. */
function parts(root: SchemaNode, node: SchemaNode, scalars: Level['scalars']): SchemaNode[] {
  const found = [node];
  const reference = /^#\/\$defs\/(\w+)$/.exec(node.$ref ?? '')?.[1];
  const referred = reference === undefined ? undefined : root.$defs?.[reference];
  const others = [
    ...(referred === undefined ? [] : [referred]),
    ...(node.allOf ?? []),
    ...(node.anyOf ?? []),
    ...(node.oneOf ?? []),
    ...(node.then !== undefined && holds(node.if, scalars) ? [node.then] : []),
  ];
  for (const other of others) found.push(...parts(root, other, scalars));
  return found;
}

function holds(condition: SchemaNode | undefined, scalars: Level['scalars']): boolean {
  return Object.entries(condition?.properties ?? {}).every(([name, wanted]) => {
    const value = scalars.get(name);
    return value !== undefined && (wanted.enum ?? [wanted.const]).map(String).includes(value);
  });
}

/** All that holds at the last of the levels. */
export function nodesAt(root: SchemaNode, levels: readonly Level[]): SchemaNode[] {
  let nodes = [root];
  for (const [index, { scalars, leads }] of levels.entries()) {
    nodes = nodes.flatMap((node) => parts(root, node, scalars));
    if (index === levels.length - 1 || leads === undefined) return nodes;
    nodes = nodes.flatMap((node) => childOf(node, leads));
  }
  return nodes;
}

function childOf(node: SchemaNode, leads: NonNullable<Level['leads']>): readonly SchemaNode[] {
  if (leads === 'item') return node.items === undefined ? [] : [node.items];
  const named = node.properties?.[leads.key];
  if (named !== undefined) return [named];
  return typeof node.additionalProperties === 'object' ? [node.additionalProperties] : [];
}

/** Keys that may come now. */
export function keysAt(root: SchemaNode, levels: readonly Level[]): Offer[] {
  const used = levels.at(-1)?.keys ?? new Set();
  const offers = new Map<string, Offer>();
  const nodes = nodesAt(root, levels);
  const required = new Set(nodes.flatMap((node) => node.required ?? []));
  for (const node of nodes) {
    for (const [label, child] of Object.entries(node.properties ?? {})) {
      if (used.has(label)) continue;
      const known = offers.get(label);
      const opens = known?.opens ?? kindOf(root, child);
      const description = known?.description || (child.description ?? '');
      offers.set(label, { label, description, opens, isRequired: required.has(label) });
    }
  }
  return [...offers.values()];
}

function kindOf(root: SchemaNode, node: SchemaNode): Offer['opens'] {
  const types = parts(root, node, new Map()).flatMap(({ type }) => type ?? []);
  const [first] = types;
  return first === 'object' ? 'map' : first === 'array' ? 'list' : undefined;
}

export function valuesOf(root: SchemaNode, levels: readonly Level[], key: string): Offer[] {
  const scalars = levels.at(-1)?.scalars ?? new Map<string, string>();
  const values = nodesAt(root, levels)
    .flatMap((node) => childOf(node, { key }))
    .flatMap((node) => parts(root, node, scalars));
  const labels = new Map<string, string>();
  for (const node of values) {
    const told = [
      ...(node.enum ?? []),
      ...(node.const === undefined ? [] : [node.const]),
      ...(node.type === 'boolean' ? [true, false] : []),
      ...(node.examples ?? []),
      ...(node.default === undefined ? [] : [node.default]),
    ];
    for (const value of told)
      if (['string', 'number', 'boolean'].includes(typeof value))
        labels.set(`${value}`, node.description ?? '');
  }
  return [...labels].map(([label, description]) => ({
    label,
    description,
    opens: undefined,
    isRequired: false,
  }));
}

/** What is known of a key of this map. */
export function describe(
  root: SchemaNode,
  levels: readonly Level[],
  key: string,
): string | undefined {
  return nodesAt(root, levels)
    .map((node) => node.properties?.[key]?.description)
    .find((text) => text !== undefined);
}
