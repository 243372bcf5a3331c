import { z } from 'zod';
import { boolean, finding, integer, json, number, optional, text } from '../../../kit/schema.ts';
import { isObject, jsonEqual, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { httpUrl, tagged } from '../../_http/fields.ts';

const FORMATS = [
  'json',
  'raw_string',
  'bytes',
  'confluent_avro',
  'confluent_json_schema',
  'confluent_protobuf',
] as const;

const tag = <const T extends string>(type: T, description: string) =>
  z.literal(type).meta({ description });

/** How values or keys are encoded: a name, or `{type, …}`. */
export function payloadFormat(what: string) {
  return z
    .preprocess(
      notProtobuf(tagged(FORMATS)),
      z.discriminatedUnion('type', [
        z.strictObject({ type: tag('json', 'JSON text.') }),
        z.strictObject({ type: tag('raw_string', 'Text as it is.') }),
        z.strictObject({ type: tag('bytes', 'Any bytes, as base64 in records.') }),
        z.strictObject({
          type: tag('confluent_avro', 'Avro with a schema of the registry.'),
        }),
        z.strictObject({
          type: tag('confluent_json_schema', 'JSON with a schema of the registry.'),
          validate: boolean()
            .default(false)
            .meta({ description: 'Whether values are checked against the schema.' }),
        }),
      ]),
    )
    .meta({ description: `Format of ${what}.` });
}

export type PayloadFormat = z.infer<ReturnType<typeof payloadFormat>>;

type Context = { addIssue(issue: ReturnType<typeof finding>): void };

function notProtobuf(spell: (value: unknown) => unknown) {
  return (value: unknown, ctx: Context): unknown => {
    const given = spell(value);
    if ((given as { type?: unknown } | null)?.type !== 'confluent_protobuf') return given;
    const message = '`confluent_protobuf` cannot be decoded';
    const hint = 'use `bytes` and decode the values elsewhere, or `confluent_avro`';
    ctx.addIssue(finding('invalid_value', message, { hint }));
    return { type: 'json' };
  };
}

export function isRegistered(type: PayloadFormat['type']): boolean {
  return type.startsWith('confluent_');
}

/** A schema as a mapping, or as JSON text. */
export function schemaText(what: string) {
  return optional(json()).meta({
    description: `Schema of ${what}, as JSON; needed by formats with a registry, where it is registered under the topic.`,
  });
}

export function schemaRegistry() {
  return optional(
    z.strictObject({
      url: httpUrl('Address of the schema registry.'),
      auth: optional(
        z.strictObject({
          username: text().meta({ description: 'User name.' }),
          password: z.string().meta({ description: 'Password.', secret: true }),
        }),
      ).meta({ description: 'Login of the registry.' }),
      cache_capacity: integer({ min: 1, max: 1_000_000 })
        .default(1024)
        .meta({ description: 'Schemas kept in memory.' }),
      request_timeout: number({ min: 0.1, max: 3600 })
        .default(10)
        .meta({ description: 'Seconds to wait for an answer.' }),
    }),
  ).meta({ description: 'Where schemas of Confluent formats are kept.' });
}

export type RegistryConfig = NonNullable<z.infer<ReturnType<typeof schemaRegistry>>>;

/** Some documents name the registry in the format that needs it; there is one for values and keys. */
export function withRegistryOfFormats(config: unknown): unknown {
  if (!isObject(config)) return config;
  let lifted = config;
  for (const name of ['value_format', 'key_format']) {
    const format = lifted[name];
    if (!isObject(format)) continue;
    const [outer, registry] = withoutRegistry(format);
    const known = lifted['schema_registry'];
    // Two that differ stay, so that the one in the format is reported.
    if (registry === undefined || (known != null && !jsonEqual(known, registry))) continue;
    lifted = { ...lifted, [name]: outer, schema_registry: registry };
  }
  return lifted;
}

function withoutRegistry(format: JsonObject): readonly [JsonObject, JsonValue | undefined] {
  const { schema_registry: registry, ...rest } = format;
  if (registry !== undefined) return [rest, registry];
  const { config } = format;
  if (!isObject(config) || config['schema_registry'] === undefined) return [format, undefined];
  const { schema_registry: inner, ...others } = config;
  return [{ ...format, config: others }, inner];
}
