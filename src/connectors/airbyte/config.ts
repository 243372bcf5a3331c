import { z } from 'zod';
import { boolean, json, nullAsAbsent, number, optional, text } from '../../kit/schema.ts';
import { stateKey } from '../_sql/source-fields.ts';
import {
  argsField,
  commandField,
  configFileField,
  malformedField,
  ownConfigField,
  texts,
} from './connector-config.ts';

export const airbyteSourceConfig = z.lazy(() =>
  z.strictObject({
    command: commandField('read', [['source-faker'], ['python', 'main.py']]),
    args: argsField('`--config`, `--catalog` and `--state`'),
    source_config: ownConfigField(),
    config_file: configFileField('source_config'),
    stream: text().meta({ description: 'Name of the stream that is read.' }),
    namespace: optional(text()).meta({
      description: 'Namespace of the stream, where the connector gives its streams one.',
    }),
    sync_mode: nullAsAbsent(z.enum(['full_refresh', 'incremental']).default('full_refresh')).meta({
      description:
        'Whether every run reads the whole stream, or goes on at the last state of the connector.',
    }),
    cursor_field: optional(texts(z.array(text()).min(1))).meta({
      description:
        'Field by which an incremental stream goes on, where the connector leaves that to its user; as a list where it lies in objects.',
      examples: ['updated_at'],
    }),
    catalog: optional(z.record(z.string(), json())).meta({
      description:
        'Catalog with the stream, discovered or configured; without it the connector is asked for it at the start of each run (`discover`).',
    }),
    state_key: stateKey,
    flush_on_state: nullAsAbsent(boolean().default(true)).meta({
      description:
        'Whether every STATE message ends a page, so that its position is stored soon; without it pages are full.',
    }),
    idle_timeout_secs: optional(number({ min: 0.001, max: 86_400 })).meta({
      description: 'Seconds of silence after which the connector is ended and the read fails.',
    }),
    on_malformed: malformedField(),
  }),
);

export type AirbyteSourceConfig = z.infer<typeof airbyteSourceConfig>;
