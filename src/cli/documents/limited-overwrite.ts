import { AppError } from '../../lib/errors.ts';
import type { Plan, PlannedSink } from '../../plan/plan.ts';

/** Of the options of a run. */
export interface Limiting {
  readonly limit: number | undefined;
  readonly dryRun: boolean;
  readonly allowOverwrite: boolean;
}

/**
 * Why a limited run must not begin: the few records that it writes would replace a whole table, and
 * no later run brings the others back where the source no longer has them.
 */
export function limitedOverwrite(
  { rows }: Plan,
  { limit, dryRun, allowOverwrite }: Limiting,
): AppError | undefined {
  if (limit === undefined || dryRun || allowOverwrite) return undefined;
  const replacing = rows.filter(({ sink }) => overwrites(sink));
  if (replacing.length === 0) return undefined;
  return new AppError(
    'limited_overwrite',
    `with \`--limit ${limit}\` at most ${limit} records would be left in what \`write_mode: overwrite\` replaces: ${replacing.map(({ id, sink }) => `${id} (${sink.type})`).join(', ')}`,
    {
      hint: 'look with `--dry-run` or `headgate preview`, or say with `--allow-overwrite` that it may be replaced',
    },
  );
}

function overwrites({ definition, parsed, judged }: PlannedSink): boolean {
  const config = parsed ?? judged;
  return config !== undefined && definition.capabilities(config).writeMode === 'overwrite';
}
