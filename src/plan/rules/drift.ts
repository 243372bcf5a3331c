/** Rules about schema drift (spec 2.11). */
import { driftQuarantines } from '../../blocks/schema-drift/schema.ts';
import type { IssueList } from '../issue-list.ts';
import type { Governance } from '../plan.ts';
import { rowName, type AssembledRow } from '../assembled-row.ts';

const PATH = 'pipeline.schema';

export function checkSchemaDrift(
  row: AssembledRow,
  { schema }: Governance,
  issues: IssueList,
): void {
  if (schema === undefined) return;
  if (schema.on_drift === 'evolve') checkEvolve(row, issues);
  if (!driftQuarantines(schema)) return;
  if (row.resolved.dlq === undefined) {
    const message = `\`schema\` sends records to the dead-letter queue, but ${rowName(row.resolved)} has no \`dlq\``;
    issues.error(
      'dlq_required',
      PATH,
      message,
      'add a `dlq` with a `sink`, or choose another policy',
    );
  }
  if (row.resolved.delivery === 'exactly_once') {
    const message = 'records that `schema` quarantines cannot be delivered exactly once';
    issues.error(
      'exactly_once_quarantine',
      PATH,
      message,
      'choose another policy, or `at_least_once`',
    );
  }
}

function checkEvolve({ writes, sink, resolved }: AssembledRow, issues: IssueList): void {
  if (writes === undefined || writes.schema === 'evolve') return;
  const name = `the sink \`${sink.plan.type}\` of ${rowName(resolved)}`;
  const message =
    writes.writeMode === 'overwrite'
      ? `${name} replaces everything (\`write_mode: overwrite\`), so \`on_drift: evolve\` has no table to change`
      : `${name} has no columns that \`on_drift: evolve\` could change`;
  const hint =
    writes.writeMode === 'overwrite'
      ? 'use another write mode or another policy'
      : 'use another policy; SQL sinks have columns with `column_mapping: auto_map`';
  issues.error('evolve_unsupported', `${PATH}.on_drift`, message, hint);
}
