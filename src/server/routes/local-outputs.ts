/** Files that sinks wrote on the machine of the server: list, show, delete. */
import { z } from 'zod';
import { actionOf } from '../../runs/service/audit.ts';
import type { Caller } from '../../runs/service/runs.ts';
import {
  cleanupRequestSchema,
  outputListSchema,
  previewSchema,
  sweepReportSchema,
  type SweepReport,
} from '../../wire/local-outputs.ts';
import type { Services } from '../services.ts';
import { permits } from '../auth/permissions.ts';
import { listLimit } from '../http/query.ts';
import { defineRoute, json, longJson, type Route } from '../route.ts';

const params = z.strictObject({
  id: z
    .string()
    .regex(/^[\w-]{1,64}$/)
    .meta({ description: 'Id of the output.' }),
});

const listOutputs = defineRoute({
  method: 'GET',
  path: '/v1/local-outputs',
  permission: 'local_output_read',
  label: 'local_output.list',
  tag: 'catalog',
  summary: 'List the files that sinks wrote, newest first',
  query: z.strictObject({
    dataset_id: z.string().optional().meta({ description: 'Only files of this data set.' }),
    pipeline: z.string().optional().meta({ description: 'Only files of this pipeline.' }),
    include_expired: z
      .enum(['true', 'false'])
      .optional()
      .meta({ description: 'Also files that were collected; false when absent.' }),
    limit: listLimit('Files in the list', { max: 2000, fallback: 200 }),
  }),
  uses: ['localOutputs'],
  responses: {
    200: { description: 'The files, and what may be done with them.', schema: outputListSchema },
  },
  async handle({ query, principal }, { localOutputs }) {
    const { include_expired: expired, ...filter } = query;
    const { preview, retentionDays } = localOutputs;
    return json(200, {
      outputs: await localOutputs.list({
        ...filter,
        include_expired: expired === 'true',
      }),
      retention_days: retentionDays,
      gc_enabled: retentionDays > 0,
      can_manage: permits(principal.role, 'local_output_manage'),
      preview_enabled: preview.enabled,
      preview_default_rows: preview.defaultRows,
      preview_max_rows: preview.maxRows,
    });
  },
});

const deleteOutput = defineRoute({
  method: 'DELETE',
  path: '/v1/local-outputs/{id}',
  permission: 'local_output_manage',
  label: 'local_output.delete',
  tag: 'catalog',
  summary: 'Delete a file that a sink wrote',
  description:
    'A file that may not be deleted is reported as skipped. The records of runs, data sets and the ledger stay.',
  params,
  uses: ['localOutputs', 'audit'],
  responses: { 200: { description: 'What became of it.', schema: sweepReportSchema } },
  async handle({ params: { id }, caller }, { localOutputs, audit }) {
    return json(
      200,
      await noted('local_output.delete', await localOutputs.remove(id), caller, audit),
    );
  },
});

const previewOutput = defineRoute({
  method: 'GET',
  path: '/v1/local-outputs/{id}/preview',
  permission: 'local_output_read',
  label: 'local_output.preview',
  tag: 'catalog',
  summary: 'Show the first records of a file that a sink wrote',
  description: 'Only where the server was started with `--preview-local-outputs`.',
  params,
  query: z.strictObject({
    row_count_to_load: z
      .string()
      .optional()
      .meta({ description: 'Records to show, or `all`; the limit of the server applies.' }),
  }),
  uses: ['localOutputs', 'audit'],
  responses: { 200: { description: 'Records of the file.', schema: previewSchema } },
  refusals: ['conflict', 'unprocessable'],
  async handle({ params: { id }, query, caller, signal }, { localOutputs, audit }) {
    const preview = await localOutputs.show(id, query.row_count_to_load, signal);
    const { output_id, path, kind, dataset_id, pipeline, run_id, rows, ...rest } = preview;
    await audit.record({
      ...actionOf(caller, 'local_output.preview', run_id),
      result: `${output_id} ${kind} rows=${rest.row_count}`,
    });
    const before = { output_id, path, kind, dataset_id, pipeline, run_id };
    return longJson({ before, name: 'rows', items: rows, after: rest });
  },
});

const cleanUpOutputs = defineRoute({
  method: 'POST',
  path: '/v1/local-outputs/cleanup',
  permission: 'local_output_manage',
  label: 'local_output.cleanup',
  tag: 'catalog',
  summary: 'Delete files that sinks wrote, by exactly one scope',
  body: cleanupRequestSchema,
  uses: ['localOutputs', 'audit'],
  responses: { 200: { description: 'What became of them.', schema: sweepReportSchema } },
  async handle({ body, caller }, { localOutputs, audit }) {
    return json(
      200,
      await noted('local_output.cleanup', await localOutputs.cleanUp(body), caller, audit),
    );
  },
});

async function noted(
  action: string,
  report: SweepReport,
  caller: Caller,
  audit: Services['audit'],
): Promise<SweepReport> {
  const { scope, deleted, bytes, skipped_count: skipped, dry_run: dry } = report;
  await audit.record({
    ...actionOf(caller, action),
    result: `deleted=${deleted} bytes=${bytes} skipped=${skipped} scope=${scope}${dry ? ' dry_run' : ''}`,
  });
  return report;
}

export const localOutputRoutes: readonly Route[] = [
  listOutputs,
  previewOutput,
  deleteOutput,
  cleanUpOutputs,
];
