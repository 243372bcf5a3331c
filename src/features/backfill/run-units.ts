/**
 * `headgate backfill`: runs the units of a range in this process, several at a time, and resumes
 * those that were stopped.
 */
import { removeState } from '../../engine/delivery/remove-state.ts';
import type { Env } from '../../lib/env.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { Gate } from '../../lib/gate.ts';
import type { StateLease } from '../../engine/row/state-lease.ts';
import type { UnsharedStore } from '../../kit/state-store.ts';
import type { Plan } from '../../plan/plan.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { isFailed, Marker, type MarkerPlace } from './marker.ts';
import { backfillProgress, backfillUnits } from './metrics.ts';
import { replaces } from './subject.ts';
import type { UnitWork } from './unit-work.ts';

export type UnitEnd = 'done' | 'failed' | 'skipped' | 'interrupted' | 'pending';

export interface UnitResult {
  readonly unit: string;
  readonly start: string | null;
  readonly end: string | null;
  /**
   * `skipped`: done by an earlier backfill; `interrupted`: stopped halfway; `pending`: not begun.
   */
  readonly status: UnitEnd;
  readonly records_written: number;
  readonly duration_ms: number;
  readonly error?: string;
}

export interface BackfillRun {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics' | 'redactor'>;
  readonly pipeline: string;
  readonly units: readonly UnitWork[];
  /** Where the marker is kept, and the bookmarks of the units. */
  readonly place: MarkerPlace & { readonly store: UnsharedStore };
  /** That of the range; absent where the backfill is known to this process alone. */
  readonly lease?: Pick<StateLease, 'confirm'> | undefined;
  readonly concurrency: number;
  /** What to do about units that an earlier backfill has begun. */
  readonly again: 'refuse' | 'resume' | 'restart';
  readonly signal: AbortSignal;
  /** Never rejects. */
  readonly execute: (unit: UnitWork, plan: Plan) => Promise<RunOutcome>;
  readonly onUnit: (result: UnitResult) => void;
}

/**
 * Results in the order of the units. Rejects with `AppError` when an earlier backfill of the range
 * must first be resumed or restarted.
 */
export async function runUnits(run: BackfillRun): Promise<readonly UnitResult[]> {
  const marker = await openMarker(run);
  const gate = new Gate(run.concurrency);
  const progress = new Progress(run);
  const results: Promise<UnitResult>[] = [];
  for (const unit of run.units) {
    if (marker.statusOf(unit.id) === 'done') {
      results.push(Promise.resolve(resultOf(unit, 'skipped')));
      progress.done();
      continue;
    }
    const release = await gate.enter();
    if (run.signal.aborted) {
      release();
      results.push(
        Promise.resolve(
          resultOf(unit, marker.statusOf(unit.id) === 'running' ? 'interrupted' : 'pending'),
        ),
      );
      continue;
    }
    const running = runUnit(unit, marker, run).then((result) => {
      progress.ended(result);
      return result;
    });
    results.push(running.finally(release));
  }
  return Promise.all(results);
}

async function openMarker({ place, again, units }: BackfillRun): Promise<Marker> {
  const marker = await Marker.open(place);
  if (!marker.isBegun) return marker;
  if (again === 'restart') await marker.restart();
  if (again !== 'refuse') return marker;
  const [done, failed] = [marker.count((status) => status === 'done'), marker.count(isFailed)];
  const message = `this backfill was begun before: ${done} of ${units.length} units are done, ${failed} failed`;
  throw new AppError('backfill_begun', message, {
    hint: '`--resume` runs those that are not done, `--restart` runs all of them again',
  });
}

async function runUnit(unit: UnitWork, marker: Marker, run: BackfillRun): Promise<UnitResult> {
  const { clock } = run.env;
  const from = clock.elapsedMs();
  const took = (): number => Math.round(clock.elapsedMs() - from);
  try {
    await run.lease?.confirm();
    const plan = unit.plan(marker.restarts);
    const reader = plan.rows.find(({ role }) => role !== 'child');
    if (marker.statusOf(unit.id) === undefined || (reader !== undefined && replaces(reader)))
      await beginAnew(unit, plan, run);
    await marker.set(unit.id, 'running');
    const outcome = await run.execute(unit, plan);
    const known = { records_written: outcome.records_written, duration_ms: took() };
    // An interrupted unit is resumed later; it is neither done nor failed.
    if (outcome.status === 'cancelled') return { ...resultOf(unit, 'interrupted'), ...known };
    if (outcome.status === 'completed') {
      await marker.set(unit.id, 'done');
      return { ...resultOf(unit, 'done'), ...known };
    }
    const error = outcome.error?.message ?? 'the run failed';
    await marker.set(unit.id, { failed: error });
    return { ...resultOf(unit, 'failed'), ...known, error };
  } catch (error) {
    const message = run.env.redactor.text(messageOf(error));
    return { ...resultOf(unit, 'failed'), duration_ms: took(), error: message };
  }
}

/** Deletes bookmarks that another backfill left under the same name. */
async function beginAnew(
  unit: UnitWork,
  { rows }: Plan,
  { env, pipeline, place: { store } }: BackfillRun,
): Promise<void> {
  for (const { id: row, stateKey, partition, role } of rows) {
    if (role === 'child') continue;
    const chunks = (partition?.chunks ?? []).map(({ id }) => `${stateKey}::partition::${id}`);
    await removeState({ store, env, labels: { pipeline, row } }, stateKey, ...chunks);
  }
  const reader = rows.find(({ role }) => role !== 'child');
  if (unit.seed !== undefined && reader !== undefined) await store.put(reader.stateKey, unit.seed);
}

function resultOf({ id, start, end }: UnitWork, status: UnitEnd): UnitResult {
  return { unit: id, start, end, status, records_written: 0, duration_ms: 0 };
}

/** Reports units as they end. */
class Progress {
  readonly #run: BackfillRun;
  #done = 0;

  constructor(run: BackfillRun) {
    this.#run = run;
    this.#measure();
  }

  done(): void {
    this.#done += 1;
    this.#measure();
  }

  ended(result: UnitResult): void {
    const { env, pipeline, onUnit } = this.#run;
    if (result.status === 'done') this.done();
    if (result.status === 'done' || result.status === 'failed') {
      env.metrics.inc(backfillUnits, {
        pipeline,
        outcome: result.status === 'done' ? 'ok' : 'err',
      });
    }
    onUnit(result);
  }

  #measure(): void {
    const { env, pipeline, units } = this.#run;
    env.metrics.set(backfillProgress, { pipeline }, this.#done / units.length);
  }
}
