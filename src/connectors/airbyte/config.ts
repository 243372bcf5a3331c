import { z } from 'zod';
import { boolean, json, nullAsAbsent, number, optional, text } from '../../kit/schema.ts';
import { stateKey } from '../_sql/source-fields.ts';

/** A text is a program, or the name of a field, alone. */
const texts = (schema: z.ZodType<string[]>) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), schema);

export const airbyteSourceConfig = z.lazy(() =>
  z.strictObject({
    command: texts(z.array(text()).min(1)).meta({
      description:
        'The connector: a program on the PATH, or its path, with the arguments that come before `read`.',
      examples: [['source-faker'], ['python', 'main.py']],
    }),
    args: nullAsAbsent(z.array(z.string()).default([])).meta({
      description: 'Arguments after `--config`, `--catalog` and `--state`.',
    }),
    source_config: nullAsAbsent(z.record(z.string(), json()).default({})).meta({
      description:
        'The config of the connector; it gets it as a file that only this user can read.',
      secret: true,
    }),
    config_file: optional(text()).meta({
      description:
        'File that keeps the config which the connector asks to keep, such as a rotated token; only this user can read it. Its fields go before those of `source_config`. Without it, such a config is lost, with a warning.',
    }),
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
    on_malformed: nullAsAbsent(z.enum(['skip', 'fail']).default('skip')).meta({
      description: 'What happens with lines that are no messages of the protocol.',
    }),
  }),
);

export type AirbyteSourceConfig = z.infer<typeof airbyteSourceConfig>;
