/** The JSON Schema of a config schema: what is published, and what findings are explained with. */
import { z, type ZodType } from 'zod';

const shapes = new WeakMap<ZodType, JsonSchema>();

/** The published JSON Schema (2020-12) of a config, as documents write it. */
export function jsonSchemaOf(schema: ZodType): JsonSchema {
  let shape = shapes.get(schema);
  if (shape === undefined) {
    shape = z.toJSONSchema(schema, {
      io: 'input',
      unrepresentable: 'any',
      reused: 'inline',
      override: describeAsWritten,
    }) as JsonSchema;
    shapes.set(schema, shape);
  }
  return shape;
}

/** Adds what the library leaves out: the text form of numbers and booleans, and defaults. */
function describeAsWritten({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: z.core.JSONSchema.BaseSchema;
}): void {
  const { def } = zodSchema._zod;
  if (def.type === 'pipe' && LENIENT.has(String(jsonSchema.type)))
    jsonSchema.type = [jsonSchema.type, 'string'] as never;
  if (def.type === 'default' && jsonSchema.default === undefined && isPlain(def.defaultValue))
    jsonSchema.default = def.defaultValue;
}

const LENIENT: ReadonlySet<string> = new Set(['integer', 'number', 'boolean']);

function isPlain(value: unknown): value is string | number | boolean | null {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

export interface JsonSchema {
  [key: string]: unknown;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  additionalProperties?: boolean | JsonSchema;
}

/** The shapes that a place can have, before their own alternatives. */
export function shapesAt(shape: JsonSchema, steps: readonly (string | number)[]): JsonSchema[] {
  let level = [shape];
  for (const step of steps) {
    level = level.flatMap(alternatives).flatMap((one) => {
      if (typeof step === 'number') return one.items === undefined ? [] : [one.items];
      const property = one.properties?.[step];
      if (property !== undefined) return [property];
      return typeof one.additionalProperties === 'object' ? [one.additionalProperties] : [];
    });
  }
  return level;
}

/** The shape and every alternative that it lists, at any depth. */
export function alternatives(shape: JsonSchema): JsonSchema[] {
  const inner = [...(shape.anyOf ?? []), ...(shape.oneOf ?? []), ...(shape.allOf ?? [])];
  return inner.length === 0 ? [shape] : [shape, ...inner.flatMap(alternatives)];
}
