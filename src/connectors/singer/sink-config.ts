import { z } from 'zod';
import { boolean, json, number, optional, text } from '../../kit/schema.ts';
import { checkWriteFields, writeFields } from '../../kit/write-spec.ts';

export const singerSinkConfig = z.lazy(() => {
  const { write_mode, key } = writeFields(['append', 'upsert', 'overwrite']);
  return z
    .strictObject({
      target_command: text().meta({
        description: 'The target: a program on the PATH, or its path.',
      }),
      args: z.array(z.string()).default([]).meta({ description: 'Arguments after `--config`.' }),
      target_config: z.record(z.string(), json()).default({}).meta({
        description: 'The config of the target; it gets it as a file that only this user can read.',
        secret: true,
      }),
      env: z.record(z.string(), z.string()).default({}).meta({
        description: 'Environment variables of the target, besides those that it inherits.',
        secret: true,
      }),
      inherit_env: boolean().default(true).meta({
        description: 'Whether it sees the environment variables that documents may read.',
      }),
      stream: optional(text()).meta({
        description: 'Name of the stream; the name of the row unless given.',
      }),
      schema: optional(z.record(z.string(), json())).meta({
        description:
          'JSON Schema of the records. Without it fields and types are those of the source, or are found in the records.',
      }),
      key_properties: optional(z.array(text())).meta({
        description: 'Keys that the target is told; `key` unless given.',
      }),
      flush_on: z.enum(['exit', 'state']).default('exit').meta({
        description:
          'When records count as written: when the target has ended, or already when it gives a state back.',
      }),
      flush_timeout_secs: number({ min: 0.001, max: 86_400 }).default(600).meta({
        description: 'Seconds within which the target takes a page, gives a state back, or ends.',
      }),
      write_mode,
      key,
    })
    .superRefine(checkWriteFields);
});

export type SingerSinkConfig = z.infer<typeof singerSinkConfig>;
