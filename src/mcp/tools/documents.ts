/** Documents: checked, looked at, and run. */
import { z } from 'zod';
import type { SubmittedDocument } from '../../wire/submission.ts';
import { planJob } from '../../features/plan-view/plan-job.ts';
import { defineTool, ToolFailure, type RanRows, type ToolContext } from '../define-tool.ts';
import { dryRunJob, sampleJob } from '../document-jobs.ts';

const config = z.string().meta({ description: 'The pipeline document, YAML or JSON text.' });

/** JSON is YAML. */
export function documentOf(text: string, { base }: Pick<ToolContext, 'base'>): SubmittedDocument {
  return { config: text, config_format: 'yaml', name: null, base: base?.content ?? null };
}

export const validateConfigTool = defineTool({
  name: 'validate_config',
  description:
    'Checks a document and says which rows would run. Secrets are not asked for, and nothing is contacted.',
  input: z.strictObject({ config }),
  needs: 'doctor',
  call: async (input, context) => {
    const document = documentOf(input.config, context);
    const withheld = { params: [], env: [] };
    const { jobs, signal } = context;
    const plan = await jobs.run(planJob, { kind: 'plan', document, withheld }, { signal });
    const { name, rows, graph, warnings } = plan;
    return {
      valid: true,
      mode: graph === undefined ? 'matrix' : 'topology',
      name,
      ...(graph === undefined
        ? { rows: rows.map(rowOf) }
        : (graph as { readonly nodes: unknown; readonly edges: unknown })),
      warnings,
    };
  },
});

function rowOf(row: Readonly<Record<string, unknown>>): object {
  const typeOf = (part: unknown): unknown => (part as { readonly type: unknown }).type;
  return {
    id: row['row'],
    source: typeOf(row['source']),
    sink: typeOf(row['sink']),
    transforms: row['transforms'],
  };
}

export const previewTool = defineTool({
  name: 'preview',
  description:
    'Reads the first records of the first row that has no parent and shows them after transforms and masking. Nothing is written.',
  input: z.strictObject({
    config,
    limit: z.int().min(1).max(100).default(10).meta({ description: 'Records to show.' }),
  }),
  needs: 'doctor',
  call: async (input, context) => {
    const document = documentOf(input.config, context);
    const request = { kind: 'sample' as const, document, limit: input.limit };
    return context.jobs.run(sampleJob, request, { signal: context.signal });
  },
});

export const runPipelineTool = defineTool({
  name: 'run_pipeline',
  description:
    'Runs a document and waits for its end. With `dry_run` everything is read and checked, and nothing is written.',
  input: z.strictObject({
    config,
    dry_run: z.boolean().default(false).meta({ description: 'Write nothing.' }),
  }),
  needs: 'run_write',
  mutates: true,
  call: async (input, context) => {
    const { signal } = context;
    return completed(
      input.dry_run
        ? await dryRun(documentOf(input.config, context), context)
        : await context.run(input.config, signal),
    );
  },
});

export async function dryRun(
  document: SubmittedDocument,
  { jobs, env, signal }: ToolContext,
): Promise<RanRows> {
  const clock = env.clock.now().toISOString();
  return jobs.run(dryRunJob, { kind: 'dry_run', document, clock }, { signal });
}

/** Throws what became of a run that did not complete. */
export function completed(rows: RanRows): RanRows {
  if (rows.status !== 'completed') throw new ToolFailure(rows);
  return rows;
}
