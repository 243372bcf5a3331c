import type { Plan, PlannedSink } from '../../plan/plan.ts';

/**
 * What to say before a limited run that leaves only its few records in a table: no later run brings
 * the others back where the source no longer has them.
 */
export function limitedOverwrite({ rows }: Plan, limit: number): string | undefined {
  const replacing = rows.filter(({ sink }) => overwrites(sink));
  if (replacing.length === 0) return undefined;
  const named = replacing.map(({ id, sink }) => `${id} (${sink.type})`).join(', ');
  return `at most ${limit} records are left in what \`write_mode: overwrite\` replaces: ${named}; \`--dry-run\` and \`headgate preview\` replace nothing`;
}

function overwrites({ definition, parsed, judged }: PlannedSink): boolean {
  const config = parsed ?? judged;
  return config !== undefined && definition.capabilities(config).writeMode === 'overwrite';
}
