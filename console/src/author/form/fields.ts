/** What a form has to know of a document and of the JSON Schema of a connector. */
import type { Issue } from '../../parts/failure.tsx';
import { isMapping, type Step, type Value } from './edit-yaml.ts';

export interface Schema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  /** Of the values of a map whose keys are chosen by whoever writes it. */
  readonly additionalProperties?: boolean | Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly secret?: boolean;
  readonly advanced?: boolean;
}

export type Role = 'source' | 'sink';

/** A part of the document that has a kind and settings, or a list of such parts. */
export interface Place {
  readonly steps: readonly Step[];
  readonly role: Role | 'transforms';
}

export function nameOf(steps: readonly Step[]): string {
  return steps.reduce<string>(
    (name, step) =>
      typeof step === 'number' ? `${name}[${step}]` : name === '' ? step : `${name}.${step}`,
    '',
  );
}

const ROLES = { source: 'source', sources: 'source', sink: 'sink', sinks: 'sink' } as const;

/**
 * The source, the transforms and the sink of the pipeline, and every other source or sink that says
 * what kind it is of, and list of transforms.
 */
export function placesOf(values: Value): readonly Place[] {
  const places: Place[] = [
    { steps: ['pipeline', 'source'], role: 'source' },
    { steps: ['pipeline', 'transforms'], role: 'transforms' },
    { steps: ['pipeline', 'sink'], role: 'sink' },
  ];
  const known = new Set(places.map(({ steps }) => nameOf(steps)));
  const look = (value: Value, steps: readonly Step[], role: Role | undefined): void => {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) look(item, [...steps, index], undefined);
      return;
    }
    if (!isMapping(value)) return;
    if (role !== undefined && typeof value['type'] === 'string') {
      if (!known.has(nameOf(steps))) places.push({ steps, role });
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'config') continue;
      if (key === 'transforms' && Array.isArray(inner)) {
        const list = [...steps, key];
        if (!known.has(nameOf(list))) places.push({ steps: list, role: 'transforms' });
        continue;
      }
      const named: Role | undefined = Object.hasOwn(ROLES, key)
        ? ROLES[key as keyof typeof ROLES]
        : undefined;
      const isPreset = (key === 'sources' || key === 'sinks') && isMapping(inner);
      if (isPreset)
        for (const [name, part] of Object.entries(inner)) look(part, [...steps, key, name], named);
      else look(inner, [...steps, key], named);
    }
  };
  look(values, [], undefined);
  return places;
}

export type Control =
  | 'choice'
  | 'switch'
  | 'number'
  | 'text'
  | 'lines'
  | 'members'
  | 'entries'
  | 'variants'
  | 'value';

export function controlOf(schema: Schema): Control {
  const types = [schema.type ?? []].flat();
  if (schema.enum !== undefined || schema.const !== undefined) return 'choice';
  if (schema.oneOf !== undefined || schema.anyOf !== undefined)
    return variantsOf(schema) === undefined ? 'value' : 'variants';
  if (types.includes('boolean')) return 'switch';
  if (types.includes('integer') || types.includes('number')) return 'number';
  if (types.includes('string')) return 'text';
  if (types.includes('array')) return schema.items?.type === 'string' ? 'lines' : 'value';
  if (schema.properties !== undefined) return 'members';
  return entrySchemaOf(schema) === undefined ? 'value' : 'entries';
}

/** Of the values of a map whose keys are chosen by whoever writes it. */
export function entrySchemaOf({ properties, additionalProperties }: Schema): Schema | undefined {
  return properties === undefined && typeof additionalProperties === 'object'
    ? additionalProperties
    : undefined;
}

export interface Variant {
  readonly name: string;
  readonly schema: Schema;
  /** What tells it from the others; absent where only its keys do. */
  readonly mark?: { readonly key: string; readonly value: unknown };
}

/** The forms that a map can have; undefined where they are not maps, or cannot be told apart. */
export function variantsOf(schema: Schema): readonly Variant[] | undefined {
  const options = (schema.oneOf ?? schema.anyOf ?? []).flatMap(
    (one) => one.oneOf ?? one.anyOf ?? [one],
  );
  const variants = options.map((option): Variant | undefined => {
    if (option.properties === undefined) return undefined;
    const [key, marked] =
      Object.entries(option.properties).find(([, { const: value }]) => value !== undefined) ?? [];
    if (key !== undefined)
      return { name: String(marked?.const), schema: option, mark: { key, value: marked?.const } };
    const [first] = option.required ?? [];
    return first === undefined ? undefined : { name: first, schema: option };
  });
  const found = variants.filter((variant) => variant !== undefined);
  const isWhole = found.length === variants.length && found.length > 0;
  return isWhole && new Set(found.map(({ name }) => name)).size === found.length
    ? found
    : undefined;
}

export function variantOf(variants: readonly Variant[], value: Value): Variant | undefined {
  if (!isMapping(value)) return undefined;
  return variants.find(({ mark, name }) =>
    mark === undefined ? Object.hasOwn(value, name) : value[mark.key] === mark.value,
  );
}

/** `pipeline.source.config["a.b"][0]`, as problems name places. */
export function stepsOf(path: string): readonly Step[] {
  return [...path.matchAll(/\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g)].map(
    ([, index, quoted, plain = '']) =>
      index !== undefined
        ? Number(index)
        : quoted !== undefined
          ? (JSON.parse(`"${quoted}"`) as string)
          : plain,
  );
}

/** Problems of this place and of what lies in it, but not of the members that have fields. */
export function issuesAt(
  issues: readonly Issue[],
  steps: readonly Step[],
  members: readonly string[] = [],
): readonly Issue[] {
  return issues.filter(({ path = '' }) => {
    const place = stepsOf(path);
    const isInside = steps.every((step, index) => String(place[index]) === String(step));
    return isInside && !members.includes(String(place[steps.length] ?? ''));
  });
}

/** What is typed in a field of a number: text stays text, because it may hold a token. */
export function numberOrText(text: string): Value {
  return /^-?\d{1,15}(\.\d{1,10})?$/.test(text) ? Number(text) : text;
}

/** A value of `${…}` comes from elsewhere. */
export function hasToken(value: Value): boolean {
  return typeof value === 'string' && value.includes('${');
}

/** A name for the variable that holds a secret. */
export function variableFor(kind: string, key: string): string {
  return `${kind}_${key}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
}
