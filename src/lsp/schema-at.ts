/** What may stand at a place of a document, by the JSON Schema of documents. */
import type { Steps } from '../document/parse/steps.ts';
import { plainText, scalarsAt, textAt, type Tree } from './document-tree.ts';

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

type Scalars = ReadonlyMap<string, string>;

/** All that holds at a path. */
export function nodesAt(root: SchemaNode, tree: Tree, path: Steps): SchemaNode[] {
  // An overlay looks like the document.
  const inProfile = path[0] === 'profiles' && path.length >= 2;
  const from = inProfile ? 2 : 0;
  let nodes: readonly SchemaNode[] = [root];
  for (let depth = from; depth < path.length; depth += 1) {
    const scalars = withPreset(tree, path.slice(0, depth));
    const step = path[depth] ?? '';
    nodes = nodes
      .flatMap((node) => expanded(root, node, scalars))
      .flatMap((node) => childrenOf(node, step));
  }
  const scalars = withPreset(tree, path);
  return nodes.flatMap((node) => expanded(root, node, scalars));
}

/** A source or a sink that names no type has that of its preset. */
function withPreset(tree: Tree, path: Steps): Scalars {
  const scalars = scalarsAt(tree, path);
  const last = path.at(-1);
  const role = last === 'source' || last === 'sink' ? last : scalars.get('kind');
  if (scalars.has('type') || (role !== 'source' && role !== 'sink')) return scalars;
  const preset = scalars.get('ref') ?? 'default';
  const type =
    textAt(tree, ['pipeline', `${role}s`, preset, 'type']) ??
    (preset === 'default' ? textAt(tree, ['pipeline', role, 'type']) : undefined);
  return type === undefined ? scalars : new Map([...scalars, ['type', type]]);
}

/** The parts of a schema that hold for a map with these values. */
function expanded(root: SchemaNode, node: SchemaNode, scalars: Scalars): SchemaNode[] {
  const reference = /^#\/\$defs\/(\w+)$/.exec(node.$ref ?? '')?.[1];
  const referred = reference === undefined ? undefined : root.$defs?.[reference];
  const choices = [...(node.anyOf ?? []), ...(node.oneOf ?? [])];
  const others = [
    ...(referred === undefined ? [] : [referred]),
    ...(node.allOf ?? []),
    ...choices.filter((choice) => !contradicts(choice, scalars)),
    ...(node.then !== undefined && holds(node.if, scalars) ? [node.then] : []),
  ];
  return [node, ...others.flatMap((other) => expanded(root, other, scalars))];
}

/** A `const` of the choice has another value in the map. */
function contradicts({ properties = {} }: SchemaNode, scalars: Scalars): boolean {
  return Object.entries(properties).some(
    ([name, { const: wanted }]) =>
      wanted !== undefined && scalars.has(name) && scalars.get(name) !== plainText(wanted),
  );
}

function holds(condition: SchemaNode | undefined, scalars: Scalars): boolean {
  return Object.entries(condition?.properties ?? {}).every(([name, wanted]) => {
    const value = scalars.get(name);
    return value !== undefined && (wanted.enum ?? [wanted.const]).map(plainText).includes(value);
  });
}

function childrenOf(node: SchemaNode, step: string | number): readonly SchemaNode[] {
  if (typeof step === 'number') return node.items === undefined ? [] : [node.items];
  const properties = node.properties ?? {};
  const named = Object.hasOwn(properties, step) ? properties[step] : undefined;
  if (named !== undefined) return [named];
  return typeof node.additionalProperties === 'object' ? [node.additionalProperties] : [];
}

/** What a part is, by what is said where its `type` is named. */
export function aboutType(nodes: readonly SchemaNode[], type: string): string | undefined {
  return nodes.find(({ if: condition }) => condition?.properties?.['type']?.enum?.includes(type))
    ?.then?.description;
}

export interface FieldInfo {
  readonly description: string | undefined;
  readonly types: readonly string[];
  readonly values: readonly unknown[];
  readonly examples: readonly unknown[];
  readonly fallback: unknown;
}

/** What is known of the field at the end of the path. */
export function fieldInfo(root: SchemaNode, tree: Tree, path: Steps): FieldInfo | undefined {
  const nodes = nodesAt(root, tree, path);
  if (nodes.length === 0) return undefined;
  const types = nodes.flatMap(
    ({ type, const: only }) => type ?? (only === undefined ? [] : typeof only),
  );
  const values = nodes.flatMap((node) => [
    ...(node.enum ?? []),
    ...(node.const === undefined ? [] : [node.const]),
  ]);
  return {
    description: nodes.find(({ description }) => description !== undefined)?.description,
    types: [...new Set(types)],
    values: [...new Set(values)],
    examples: nodes.flatMap(({ examples = [] }) => examples),
    fallback: nodes.find((node) => node.default !== undefined)?.default,
  };
}
