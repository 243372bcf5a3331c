import { z } from 'zod';
import { finding, json, nullAsAbsent, number, optional, text } from '../../kit/schema.ts';
import { checkWriteFields, writeFields } from '../../kit/write-spec.ts';
import {
  argsField,
  commandField,
  configFileField,
  malformedField,
  ownConfigField,
  texts,
} from './connector-config.ts';

export const airbyteSinkConfig = z.lazy(() => {
  const { write_mode, key } = writeFields(['append', 'upsert', 'overwrite']);
  return z
    .strictObject({
      command: commandField('write', [['destination-pgvector'], ['python', 'main.py']]),
      args: argsField('`--config` and `--catalog`'),
      destination_config: ownConfigField(),
      config_file: configFileField('destination_config'),
      stream: optional(text()).meta({
        description: 'Name of the stream; the name of the row unless given.',
      }),
      namespace: optional(text()).meta({
        description:
          'Namespace of the stream: for most destinations a schema or a database, in place of the one of their config.',
      }),
      schema: optional(z.record(z.string(), json())).meta({
        description:
          'JSON Schema of the records. Without it fields and types are those of the source, or are found in the records. Fields that it does not have are not written, unless it has `additionalProperties: true`.',
      }),
      cursor_field: optional(texts(z.array(text()).min(1))).meta({
        description:
          'Upsert only: field by which the destination tells the newest of several records with one key; as a list where it lies in objects. The last that was written is the newest unless given.',
        examples: ['updated_at'],
      }),
      flush_on: nullAsAbsent(z.enum(['exit', 'state']).default('state')).meta({
        description:
          'When records count as written: when the destination gives the state behind them back, or only when it has ended, for those that give states back at their end alone.',
      }),
      flush_timeout_secs: nullAsAbsent(number({ min: 0.001, max: 86_400 }).default(600)).meta({
        description:
          'Seconds within which the destination takes a page, gives a state back, or ends.',
      }),
      on_malformed: malformedField(),
      write_mode,
      key,
    })
    .superRefine((config, ctx) => {
      checkWriteFields(config, ctx);
      if (config.cursor_field !== undefined && config.write_mode !== 'upsert')
        ctx.addIssue(
          finding('invalid_value', '`cursor_field` works only with `write_mode: upsert`', {
            path: ['cursor_field'],
          }),
        );
    });
});

export type AirbyteSinkConfig = z.infer<typeof airbyteSinkConfig>;
