/** Streams of a connector: the one that is read, and how it is asked for. */
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { schemaOfStream } from '../_programs/stream-types.ts';
import type { AirbyteSourceConfig } from './config.ts';
import { isStream, nameIn } from './messages.ts';

export interface ConfiguredStream {
  /** For `--catalog`, with this stream alone. */
  readonly catalog: JsonObject;
  readonly schema: RecordSchema | undefined;
}

/** In a configured catalog streams lie in entries that say how they are read. */
export function streamsIn({ streams }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(streams)) return [];
  return streams
    .filter(isObject)
    .map((entry) => (isObject(entry['stream']) ? entry['stream'] : entry));
}

export function configuredStream(
  catalog: JsonObject,
  config: Pick<AirbyteSourceConfig, 'stream' | 'namespace' | 'sync_mode' | 'cursor_field'>,
): ConfiguredStream {
  const streams = streamsIn(catalog);
  const [stream, ...others] = streams.filter((one) => isStream(nameIn(one), config));
  if (stream === undefined) throw unknownStream(config.stream, streams);
  if (others.length > 0)
    throw new ConnectorError(
      'refused',
      `there are ${others.length + 1} streams \`${config.stream}\`, of several namespaces`,
      { hint: 'say which one with `namespace`' },
    );
  const { sync_mode: mode, cursor_field: cursor } = config;
  const { supported_sync_modes: modes, source_defined_primary_key: key } = stream;
  if (Array.isArray(modes) && !modes.includes(mode))
    throw new ConnectorError(
      'refused',
      `the stream \`${config.stream}\` cannot be read with \`sync_mode: ${mode}\``,
      { hint: `it can with: ${modes.map(jsonText).join(', ')}` },
    );
  const cursorField = cursor ?? stream['default_cursor_field'];
  return {
    schema: schemaOfStream(typedSchema(stream['json_schema'])),
    catalog: {
      streams: [
        {
          stream,
          sync_mode: mode,
          destination_sync_mode: 'append',
          ...(cursorField === undefined ? {} : { cursor_field: cursorField }),
          ...(key === undefined ? {} : { primary_key: key }),
        },
      ],
    },
  };
}

function unknownStream(name: string, streams: readonly JsonObject[]): ConnectorError {
  const names = streams.map((one) => nameIn(one)?.name ?? '?');
  const hint = names.length === 0 ? 'it has none' : `it has: ${names.slice(0, 20).join(', ')}`;
  return new ConnectorError('missing', `the connector has no stream \`${name}\``, { hint });
}

/** What the types of Airbyte say more than JSON Schema; every field may be null. */
function typedSchema(schema: JsonValue | undefined): JsonObject {
  if (!isObject(schema ?? null)) return {};
  const { properties } = schema as JsonObject;
  if (!isObject(properties ?? null)) return {};
  return {
    properties: Object.fromEntries(
      Object.entries(properties as JsonObject).map(([name, field]) => [
        name,
        isObject(field) ? typedField(field) : field,
      ]),
    ),
  };
}

function typedField({ format, ...field }: JsonObject): JsonObject {
  const { type: given, airbyte_type: special } = field;
  // Times of day, and moments without a zone, have no type of their own in JSON Schema.
  const isMoment = special === 'timestamp_with_timezone';
  const keepsFormat = isMoment || (special === undefined && format !== 'time');
  return {
    ...field,
    ...(given === undefined ? {} : { type: typesOf(given, special === 'integer') }),
    ...(format !== undefined && keepsFormat ? { format } : {}),
  };
}

function typesOf(given: JsonValue, isWhole: boolean): JsonValue[] {
  const names = [given, 'null'].flat();
  return [...new Set(names.map((name) => (name === 'number' && isWhole ? 'integer' : name)))];
}
