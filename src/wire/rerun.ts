/** A run that is run again, and the plan of a run, as the HTTP API shows them. */
import { z } from 'zod';
import { submissionReceiptSchema, submissionSchema } from './run.ts';

const settings = submissionSchema.shape;

export const rerunRequestSchema = z
  .strictObject({
    clock: z.string().default('same').meta({
      description:
        'What `${now.*}` renders: `same` as in the run, `now`, or an RFC 3339 timestamp.',
    }),
    from: z.enum(['bookmark', 'start']).nullish().meta({
      description:
        'Where sources begin: at the stored bookmark, or at the start. Absent: as the run did.',
    }),
    params: z
      .record(z.string(), z.unknown())
      .nullish()
      .meta({ description: 'Values of parameters, over those of the run.' }),
    env: z
      .record(z.string(), z.string())
      .nullish()
      .meta({ description: 'Variables that the document sees first, over those of the run.' }),
    labels: settings.labels.meta({ description: 'Labels, over those of the run.' }),
    timeout_secs: settings.timeout_secs.meta({ description: 'In place of that of the run.' }),
    concurrency: settings.concurrency.meta({ description: 'In place of that of the run.' }),
    priority: settings.priority.meta({ description: 'In place of that of the run.' }),
    doctor_first: settings.doctor_first,
    idempotency_key: settings.idempotency_key,
    callback: settings.callback,
  })
  .meta({ description: 'How a run is run again.' });
export type RerunRequest = z.infer<typeof rerunRequestSchema>;

export const rerunReceiptSchema = submissionReceiptSchema.extend({
  rerun_of: z.string().meta({ description: 'The run that is run again.' }),
});
export type RerunReceipt = z.infer<typeof rerunReceiptSchema>;

export const runPlanSchema = z
  .object({
    run_id: z.string(),
    name: z.string(),
    clock: z.string().meta({ format: 'date-time', description: 'What `${now.*}` renders.' }),
    from: z
      .enum(['bookmark', 'start'])
      .meta({ description: 'Where the sources of the run begin.' }),
    on_error: z.string(),
    max_concurrent: z.int().meta({ description: 'Rows that run at the same time.' }),
    rows: z
      .array(z.looseObject({ row: z.string() }))
      .meta({ description: 'How each row runs, as `headgate plan --json` shows it.' }),
    graph: z
      .unknown()
      .optional()
      .meta({ description: 'Nodes and edges; present when the document has a graph.' }),
    params: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The values of its parameters, secret ones masked.' }),
    warnings: z.array(z.object({ path: z.string(), message: z.string() })),
    stood_in: z.array(z.string()).meta({
      description:
        'Parameters and variables whose values are not stored; something else stands for them.',
    }),
  })
  .meta({ description: 'The plan of a run.' });
export type RunPlan = z.infer<typeof runPlanSchema>;

export const planRequestSchema = submissionSchema
  .pick({ config: true, config_format: true, name: true })
  .meta({ description: 'A document to plan.' });
export type PlanRequest = z.infer<typeof planRequestSchema>;

export const documentPlanSchema = runPlanSchema
  .omit({ run_id: true, clock: true, from: true, stood_in: true })
  .meta({ description: 'The plan of a document.' });
export type DocumentPlan = z.infer<typeof documentPlanSchema>;
