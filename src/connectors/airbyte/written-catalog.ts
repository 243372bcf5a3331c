/** What a destination is told of the stream that it gets. */
import type { RecordType } from '../../kit/record-schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { formatOf } from '../_programs/stream-schema.ts';
import type { AirbyteSinkConfig } from './sink-config.ts';

const MODES = { append: 'append', upsert: 'append_dedup', overwrite: 'overwrite' } as const;

export interface WrittenStream {
  readonly stream: string;
  readonly schema: JsonObject;
  /** Grows with every run. */
  readonly run: number;
}

/** For `--catalog`, with this stream alone. */
export function writtenCatalog(
  { stream, schema, run }: WrittenStream,
  { namespace, write_mode: mode, key, cursor_field: cursor }: AirbyteSinkConfig,
): JsonObject {
  const isOverwrite = mode === 'overwrite';
  // Records of generations below the least one are removed when the stream is complete.
  const generation = isOverwrite ? run : 0;
  return {
    streams: [
      {
        stream: {
          name: stream,
          ...(namespace === undefined ? {} : { namespace }),
          json_schema: schema,
          supported_sync_modes: ['full_refresh', 'incremental'],
        },
        sync_mode: isOverwrite ? 'full_refresh' : 'incremental',
        destination_sync_mode: MODES[mode],
        cursor_field: cursor ?? [],
        primary_key: mode === 'upsert' ? key.map((column) => [column]) : [],
        generation_id: generation,
        minimum_generation_id: generation,
        sync_id: run,
      },
    ],
  };
}

/** One that does not say what it can is believed to have all modes. */
export function requireMode(
  { supported_destination_sync_modes: modes }: JsonObject,
  { command, write_mode: mode }: Pick<AirbyteSinkConfig, 'command' | 'write_mode'>,
): void {
  if (!Array.isArray(modes) || modes.length === 0 || modes.includes(MODES[mode])) return;
  const names = Object.entries(MODES).filter(([, name]) => modes.includes(name));
  throw new ConnectorError(
    'refused',
    `the connector \`${command[0]}\` cannot write with \`write_mode: ${mode}\` (\`${MODES[mode]}\`)`,
    { hint: `it can with: ${names.map(([name]) => name).join(', ')}` },
  );
}

/** Types of JSON Schema, with what Airbyte says more of times. */
export function airbyteType(type: RecordType): JsonObject {
  const special = specialType(type);
  return { ...formatOf(type), ...(special === undefined ? {} : { airbyte_type: special }) };
}

function specialType(type: RecordType): JsonValue | undefined {
  if (type.kind === 'time') return 'time_without_timezone';
  if (type.kind !== 'timestamp') return undefined;
  return type.zone === undefined ? 'timestamp_without_timezone' : 'timestamp_with_timezone';
}
