/** Which data sets a source has, as the HTTP API tells it. */
import { z } from 'zod';
import type { JsonValue } from '../lib/text/json.ts';
import { planRequestSchema } from './rerun.ts';

const patterns = (description: string) =>
  z.array(z.string().min(1)).max(100).default([]).meta({ description });

export const discoverRequestSchema = planRequestSchema
  .extend({
    source: z.string().min(1).nullish().meta({
      description: 'Which of `pipeline.sources`; `pipeline.source` when absent.',
    }),
    include: patterns('Only data sets of such a name; `*` stands for any text.'),
    exclude: patterns('None of such a name; `*` stands for any text.'),
  })
  .meta({ description: 'A document whose source is asked which data sets it has.' });
export type DiscoverRequest = z.infer<typeof discoverRequestSchema>;

const anyObject = z.record(z.string(), z.unknown() as z.ZodType<JsonValue>);

export const discoveryReportSchema = z
  .object({
    source: z.string().meta({ description: 'Kind of the source.' }),
    data_sets: z
      .array(
        z.object({
          name: z.string().meta({ description: 'As the source calls it.' }),
          kind: z.string().meta({ description: 'What it is: a table, a folder, a topic.' }),
          estimated_rows: z
            .number()
            .nullable()
            .meta({ description: 'How many records it has, where the source can tell at once.' }),
          columns: z
            .array(z.string())
            .nullable()
            .meta({ description: 'Names of its columns, where the source knows them.' }),
          row: anyObject.meta({
            description: 'The row of the matrix that moves it; its id is not in the document yet.',
          }),
        }),
      )
      .meta({ description: 'At most 10,000, in the order of the source.' }),
    total: z.int().meta({ description: 'How many there are.' }),
  })
  .meta({ description: 'The data sets of a source.' });
export type DiscoveryReport = z.infer<typeof discoveryReportSchema>;
