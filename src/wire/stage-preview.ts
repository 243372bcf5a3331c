/** What the stages of a row make of the first records of its source, as the HTTP API shows it. */
import { z } from 'zod';
import type { JsonValue } from '../lib/text/json.ts';
import { planRequestSchema } from './rerun.ts';

const MOST_RECORDS = 50;

export const stagePreviewRequestSchema = planRequestSchema
  .extend({
    row: z
      .string()
      .nullish()
      .meta({ description: 'The row; by default the first one that has no parent.' }),
    limit: z
      .int()
      .min(1)
      .max(MOST_RECORDS)
      .default(10)
      .meta({ description: 'Records that are read.' }),
  })
  .meta({ description: 'A document whose stages are tried.' });
export type StagePreviewRequest = z.infer<typeof stagePreviewRequestSchema>;

const records = z.array(z.unknown() as z.ZodType<JsonValue>);

export const stagePreviewSchema = z
  .object({
    row: z.string(),
    source: z.string().meta({ description: 'Kind of the source.' }),
    sink: z.string().meta({ description: 'Kind of the sink, which is not opened.' }),
    input: records.meta({ description: 'As the source gives them.' }),
    stages: z
      .array(
        z.object({
          stage: z
            .string()
            .meta({ description: '`transform` with its type, or the name of another stage.' }),
          before: records,
          after: records,
          filtered: z.int(),
          expanded: z.int(),
          dead: z.array(
            z.object({
              reason: z.string(),
              message: z.string(),
              record: z.unknown() as z.ZodType<JsonValue>,
            }),
          ),
        }),
      )
      .meta({ description: 'In the order of the document.' }),
    output: records.meta({ description: 'What the sink would be given.' }),
    error: z.string().nullable().meta({ description: 'Why the run would end here.' }),
  })
  .meta({
    description: 'The first records of a row after each stage. What masking hides is hidden.',
  });
export type StagePreview = z.infer<typeof stagePreviewSchema>;
