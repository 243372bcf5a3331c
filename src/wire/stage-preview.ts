/** What the stages of a row make of the first records of its source, as the HTTP API shows it. */
import { z } from 'zod';
import type { JsonValue } from '../lib/text/json.ts';
import { planRequestSchema } from './rerun.ts';

const MOST_RECORDS = 50;

export const stagePreviewRequestSchema = planRequestSchema
  .extend({
    row: z.string().nullish().meta({
      description:
        'The row; by default the first one that has no parent. Of a graph a node, which is shown with what leads to it; by default all nodes.',
    }),
    limit: z
      .int()
      .min(1)
      .max(MOST_RECORDS)
      .default(10)
      .meta({ description: 'Records that are read of each source.' }),
  })
  .meta({ description: 'A document whose stages are tried.' });
export type StagePreviewRequest = z.infer<typeof stagePreviewRequestSchema>;

const records = z.array(z.unknown() as z.ZodType<JsonValue>);

const stages = z
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
  .meta({ description: 'In the order of the document.' });
const ends = z.string().nullable().meta({ description: 'Why the run would end here.' });

const rowPreview = z.object({
  row: z.string(),
  source: z.string().meta({ description: 'Kind of the source.' }),
  sink: z.string().meta({ description: 'Kind of the sink, which is not opened.' }),
  input: records.meta({ description: 'As the source gives them.' }),
  stages,
  output: records.meta({ description: 'What the sink would be given.' }),
  error: ends,
});

const graphPreview = z.object({
  nodes: z
    .array(
      z.object({
        node: z.string(),
        kind: z.enum(['source', 'transform', 'tee', 'merge', 'join', 'sink']),
        connector: z.string().nullable().meta({ description: 'Kind of a source or a sink.' }),
        inputs: z.array(
          z.object({
            from: z.string().meta({ description: 'The node that hands these on.' }),
            label: z.string().nullable().meta({ description: 'What a join calls this input.' }),
            records,
          }),
        ),
        stages,
        output: records.meta({
          description: 'What it hands on, at most 500; what a sink would be given.',
        }),
        error: ends,
      }),
    )
    .meta({ description: 'Each node after those that feed it.' }),
});

export const stagePreviewSchema = z.union([rowPreview, graphPreview]).meta({
  description:
    'The first records of a row after each stage, or of a graph at each node. What masking hides is hidden.',
});
export type StagePreview = z.infer<typeof stagePreviewSchema>;
export type RowPreview = z.infer<typeof rowPreview>;
export type GraphPreview = z.infer<typeof graphPreview>;
