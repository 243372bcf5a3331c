/**
 * The JSON Schema of whole documents, for editors: the grammar of the blocks, with the settings of
 * every part of a build filled in.
 */
import type { Parts } from '../kit/parts.ts';
import { jsonSchemaOf, type JsonSchema } from '../kit/json-schema.ts';
import type { Grammar } from './grammar.ts';

type Kind = 'source' | 'sink' | 'transform' | 'state' | 'credential';

/** Keys of a document below which `{type, config}` names a part of a kind. */
const KIND_BELOW: Readonly<Record<string, Kind>> = {
  source: 'source',
  sources: 'source',
  from_source: 'source',
  sink: 'sink',
  sinks: 'sink',
  transforms: 'transform',
  state: 'state',
  auth: 'credential',
};

interface Typed {
  readonly type: string;
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly config: Parameters<typeof jsonSchemaOf>[0];
}

export function editorSchema(parts: Parts, grammar: Grammar): JsonSchema {
  const { required, ...whole } = withParts(jsonSchemaOf(grammar.document), undefined) as JsonSchema;
  return {
    ...whole,
    // What a document extends may bring what it lacks itself.
    anyOf: [{ required }, { required: ['extends'] }],
    title: 'Headgate pipeline document',
    $defs: madeWhenRead([
      ...partSchemas('source', parts.sources.all, 'partial'),
      ...partSchemas('sink', parts.sinks.all, 'partial'),
      ...partSchemas('transform', parts.transforms.all, 'whole'),
      ...partSchemas('state', parts.states.all, 'whole'),
      ...partSchemas('credential', parts.credentials.all, 'whole'),
    ]),
  };
}

type Maker = readonly [name: string, make: () => object];

/**
 * The settings of all parts take half a second to describe, and a look at one document reads those
 * of two or three.
 */
function madeWhenRead(makers: readonly Maker[]): Record<string, object> {
  const made = {};
  for (const [name, make] of makers)
    Object.defineProperty(made, name, {
      enumerable: true,
      configurable: true,
      get() {
        const value = make();
        Object.defineProperty(made, name, { value, enumerable: true });
        return value;
      },
    });
  return made;
}

/** Every place where a part is named also refers to what is known about the parts of that kind. */
function withParts(schema: unknown, kind: Kind | undefined): unknown {
  if (Array.isArray(schema)) return schema.map((one) => withParts(one, kind));
  if (typeof schema !== 'object' || schema === null) return schema;
  const node: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema))
    node[key] = key === 'properties' ? propertiesWithParts(value, kind) : withParts(value, kind);
  const named = kind ?? kindOfNode(schema as JsonSchema);
  return named !== undefined && namesPart(schema as JsonSchema)
    ? { ...node, $ref: `#/$defs/${named}` }
    : node;
}

/** Nodes of a graph say themselves what they are. */
function kindOfNode({ properties }: JsonSchema): Kind | undefined {
  const fixed = properties?.['kind']?.['const'];
  return fixed === 'source' || fixed === 'sink' ? fixed : undefined;
}

function propertiesWithParts(properties: unknown, kind: Kind | undefined): unknown {
  const entries = Object.entries(properties as Record<string, unknown>);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, withParts(value, KIND_BELOW[name] ?? kind)]),
  );
}

function namesPart({ properties }: JsonSchema): boolean {
  return properties?.['type'] !== undefined && properties['config'] !== undefined;
}

/**
 * One condition a type, so that an editor shows the settings of the type that stands there. Rows
 * complete the sources and sinks they start from, so that nothing is required of one that stands
 * alone.
 *
 * The settings of each type are schemas of their own, two references away: validators that compile a
 * schema to a function (Ajv) put a referenced schema that itself refers to nothing into the function
 * around it, and one function for all types has more variables than the stack has room for.
 */
function partSchemas(
  kind: Kind,
  definitions: readonly Typed[],
  config: 'whole' | 'partial',
): Maker[] {
  const names = ({ type, aliases = [] }: Typed): string[] => [type, ...aliases];
  const nameOf = ({ type }: Typed): string => `${kind}_${type.replaceAll(/\W/g, '_')}`;
  const choice = {
    properties: { type: { enum: definitions.flatMap(names) } },
    allOf: definitions.map((one) => ({
      if: { properties: { type: { enum: names(one) } }, required: ['type'] },
      // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema
      then: { description: one.description, $ref: `#/$defs/${nameOf(one)}` },
    })),
  };
  const settings = definitions.flatMap((one): Maker[] => [
    [nameOf(one), () => ({ properties: { config: { $ref: `#/$defs/${nameOf(one)}_config` } } })],
    [`${nameOf(one)}_config`, () => configSchema(one, config)],
  ]);
  return [[kind, () => choice], ...settings];
}

function configSchema({ config }: Typed, completeness: 'whole' | 'partial'): object {
  const { $schema: _dialect, required, ...rest } = jsonSchemaOf(config);
  return completeness === 'whole' && required !== undefined ? { ...rest, required } : rest;
}
