import { joinPath } from '../../lib/text/text-path.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { BlockPlace } from '../define-block.ts';
import { driftQuarantines, type SchemaDriftConfig } from './schema.ts';

export function checkSchemaDrift(
  schema: SchemaDriftConfig,
  row: AssembledRow,
  place: BlockPlace,
): void {
  if (schema.on_drift === 'evolve') checkEvolve(row, place);
  if (!driftQuarantines(schema) || row.delivery !== 'exactly_once') return;
  place.issues.error(
    'exactly_once_quarantine',
    place.path,
    'records that `schema` quarantines cannot be delivered exactly once',
    'choose another policy, or `at_least_once`',
  );
}

function checkEvolve(
  { writes, sink, name: row }: AssembledRow,
  { path, issues }: BlockPlace,
): void {
  if (writes === undefined || writes.schema === 'evolve') return;
  const name = `the sink \`${sink.plan.type}\` of ${row}`;
  const message =
    writes.writeMode === 'overwrite'
      ? `${name} replaces everything (\`write_mode: overwrite\`), so \`on_drift: evolve\` has no table to change`
      : `\`on_drift: evolve\` cannot change the columns of ${name}`;
  const hint =
    writes.writeMode === 'overwrite'
      ? 'use another write mode or another policy'
      : 'use another policy; SQL sinks have columns with `column_mapping: auto_map`';
  issues.error('evolve_unsupported', joinPath(path, 'on_drift'), message, hint);
}
