import { isObject, type JsonObject } from '../../lib/text/json.ts';
import { openDocument } from '../../runs/planning/open-document.ts';
import { defineJob } from '../../runs/worker/define-job.ts';
import { failJob } from '../../runs/worker/job-fault.ts';
import type { DiscoveryReport } from '../../wire/discovery.ts';
import { discoverJobSchema } from '../../wire/job.ts';
import { matrixRows } from './matrix-rows.ts';
import { onlySource } from './only-source.ts';

/** Told in one answer. */
const MOST_DATA_SETS = 10_000;

/** Asks a source which data sets it has. The document may still lack everything else. */
export const discoverJob = defineJob({
  kind: 'discover',
  word: 'discovery',
  request: discoverJobSchema,
  limits: {
    atOnce: 2,
    waiting: 16,
    limitMs: 60_000,
    countsFrom: 'begin',
    graceMs: 0,
    overdue: 'unprocessable',
    isRepeatable: true,
  },
  execute: async ({ document, source, include, exclude }, context): Promise<DiscoveryReport> => {
    const { env, parts, signal } = context;
    const preset = source ?? undefined;
    let tree: JsonObject = {};
    try {
      const plan = await openDocument(document, context, {
        adapt: (whole, known) => {
          ({ tree } = whole);
          return onlySource(whole, known, preset);
        },
      });
      const { discover } = await import('../../engine/discovery/discover.ts');
      const clock = env.clock.now();
      const found = await discover({ plan, parts, env, clock, signal, include, exclude });
      const shown = found.slice(0, MOST_DATA_SETS);
      const rows = matrixRows({ tree, found: shown, preset, taken: idsOf(tree) });
      return env.redactor.json({
        source: plan.rows[0]?.source.type ?? '',
        data_sets: shown.map(({ name, kind, estimated_rows: estimate, schema }, index) => ({
          name,
          kind,
          estimated_rows: estimate ?? null,
          columns: isObject(schema?.['properties']) ? Object.keys(schema['properties']) : null,
          row: rows[index] ?? {},
        })),
        total: found.length,
      });
    } catch (error) {
      return failJob(error, env.redactor);
    }
  },
});

/** Of the rows that the document has. */
function idsOf({ matrix }: JsonObject): readonly string[] {
  const rows = Array.isArray(matrix) ? matrix : [];
  return rows.flatMap((row) => (isObject(row) && typeof row['id'] === 'string' ? [row['id']] : []));
}
