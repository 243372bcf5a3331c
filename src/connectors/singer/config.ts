import { z } from 'zod';
import { boolean, json, number, optional, text } from '../../kit/schema.ts';
import { stateKey } from '../_sql/source-fields.ts';

export const singerSourceConfig = z.lazy(() =>
  z.strictObject({
    executable: text().meta({
      description: 'The tap: a program on the PATH, or its path.',
    }),
    stream: text().meta({ description: 'Name of the stream; records of others are left out.' }),
    args: z
      .array(z.string())
      .default([])
      .meta({ description: 'Arguments after `--config`, `--catalog` and `--state`.' }),
    tap_config: z.record(z.string(), json()).default({}).meta({
      description: 'The config of the tap; it gets it as a file that only this user can read.',
      secret: true,
    }),
    catalog: optional(z.record(z.string(), json())).meta({
      description: 'The catalog of the tap, with the streams that are selected.',
    }),
    state_key: stateKey,
    flush_on_state: boolean().default(true).meta({
      description:
        'Whether every STATE message ends a page, so that its position is stored soon; without it pages are full.',
    }),
    idle_timeout_secs: optional(number({ min: 0.001, max: 86_400 })).meta({
      description: 'Seconds of silence after which the tap is ended and the read fails.',
    }),
    on_malformed: z.enum(['skip', 'fail']).default('skip').meta({
      description: 'What happens with lines that are no messages of Singer.',
    }),
  }),
);

export type SingerSourceConfig = z.infer<typeof singerSourceConfig>;
