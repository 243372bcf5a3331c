import { z } from 'zod';
import { finding, json, optional, text } from '../../kit/schema.ts';
import { LONGEST_NAME } from '../text/limits.ts';
import { defineStructure, type BlockGrammar } from '../block.ts';
import { authSchema } from './auth.ts';
import { fieldsOf } from './block-fields.ts';
import type { RowSpec } from './matrix.ts';
import { paramsSchema } from './params.ts';
import type { PipelineSchema } from './pipeline.ts';
import { varsSchema } from './vars.ts';

function version() {
  return z.preprocess(
    (value) => (value === '1' ? 1 : value),
    z.number().superRefine((value, ctx) => {
      if (value === 1) return;
      const message = `version ${value} of the document format is not known here`;
      ctx.addIssue(finding('unknown_version', message, { hint: 'write `version: 1`' }));
    }),
  );
}

export type DocumentSchema = ReturnType<typeof documentSchemaOf>;

export function documentSchemaOf(
  blocks: readonly BlockGrammar[],
  { pipeline, row }: { readonly pipeline: PipelineSchema; readonly row: z.ZodType<RowSpec> },
) {
  return z.lazy(() =>
    z.strictObject({
      version: version().meta({ description: 'Version of the document format; must be 1.' }),
      kind: optional(z.literal('pipeline')).meta({
        description: 'Marks a whole pipeline document; may be left out.',
      }),
      name: optional(z.string().min(1).max(LONGEST_NAME)).meta({
        description:
          'Name of the pipeline in state keys, metrics and logs; the file name when absent.',
      }),
      extends: optional(z.union([text(), z.array(text())])).meta({
        description:
          'In files: documents to lie beneath this one, relative to it; of several the later ones count more.',
      }),
      profiles: optional(z.record(z.string(), z.record(z.string(), json()).nullable())).meta({
        description: 'In files: overlays by name, of which `--profile` applies one.',
      }),
      vars: optional(varsSchema).meta({ description: 'Values by name, for `${vars.<name>}`.' }),
      params: optional(paramsSchema).meta({
        description: 'Typed values that the caller of a run supplies, for `${param.<name>}`.',
      }),
      auth: optional(authSchema).meta({ description: 'Logins by name, shared by connectors.' }),
      pipeline: pipeline.meta({ description: 'What is moved, and how it is checked.' }),
      matrix: optional(z.array(row)).meta({
        description: 'Rows that each run the pipeline with something different.',
      }),
      ...fieldsOf(blocks, 'top'),
    }),
  );
}

export const documentBlock = (schema: DocumentSchema) =>
  defineStructure({
    name: 'document',
    placement: 'top',
    description: 'The whole document.',
    schema,
    examples: [
      {
        version: 1,
        name: 'orders',
        pipeline: {
          source: { type: 'csv', config: { path: 'orders.csv' } },
          sink: { type: 'jsonl', config: { path: 'orders.jsonl' } },
        },
      },
    ],
  });
