import type { SinkRollbackResult } from '../../kit/rollback.ts';
import type { RollbackReport } from '../../wire/rollback.ts';
import type { Marker } from './markers.ts';

export interface RolledBack {
  readonly marker: Marker;
  readonly result: SinkRollbackResult;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly dependent: number;
  readonly open: number;
  readonly laterRuns: readonly string[];
  readonly rewinds: boolean;
}

/** What is reported of a rollback, also of one that was refused or only tried. */
export function reportOf(rolledBack: RolledBack): RollbackReport {
  const { marker, result, dryRun, force, dependent, laterRuns, rewinds } = rolledBack;
  const conflicts = result.conflicts + dependent;
  const blocked = conflicts > 0 && !force;
  return {
    run_id: marker.run_id,
    row: marker.row,
    sink_kind: marker.sink_kind,
    dataset: marker.sink_uri,
    mode: marker.mode,
    dry_run: dryRun,
    applied: result.applied,
    blocked,
    deleted: blocked ? 0 : result.deleted,
    restored: blocked ? 0 : result.restored,
    conflicts,
    bookmark_rewound: result.applied && rewinds,
    token_rewound: result.applied && marker.token_before !== undefined,
    later_runs: [...laterRuns],
    note: noteOf(rolledBack, blocked),
  };
}

function noteOf(
  { marker, result, dependent, open, laterRuns }: RolledBack,
  blocked: boolean,
): string | null {
  if (open > 0 && blocked) {
    return `${open} later run(s) of the row have not ended, or were killed: wait for them, or undo them first, the newest one before the others`;
  }
  if (open > 0)
    return `${open} later run(s) of the row have not ended: one that continues overwrites the restored position with its own`;
  if (blocked && dependent > 0 && laterRuns.length === 0) {
    return 'a later run that is not kept appended what comes after it, which would be read and appended again: force it only if that is wanted';
  }
  if (blocked && dependent > 0) {
    return `${laterRuns.length} later run(s) appended what comes after it, and would be read and appended again: undo them first, the newest one before the others`;
  }
  if (blocked && laterRuns.length === 0) {
    return 'what this run wrote was changed or removed since by something that is not kept (a repair, a replay, a backfill, somebody else): only force undoes it';
  }
  if (blocked)
    return 'later runs changed or removed what this one wrote: undo them first, or force it';
  if (dependent > 0)
    return `the next run reads again what ${dependent} later run(s) appended: their records will be there twice`;
  const written = marker.mode === 'append' ? marker.records_written : undefined;
  if (written === undefined || written <= result.deleted) return null;
  return `${written - result.deleted} of the ${written} records that the run wrote are gone already, or were changed by another run`;
}
