/**
 * Keeps an invocation undoable: what was before is remembered before the first write, and no more
 * invocations than asked for are kept.
 */
import { messageOf, RunError } from '../../lib/errors.ts';
import { canonicalJson, type JsonValue } from '../../lib/text/json.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { Undo, UndoMode } from '../../kit/undo.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import { undoModeOf } from '../../plan/undo-mode.ts';
import { blame } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { Markers, type Marker } from './markers.ts';
import { settleInterrupted } from './settle.ts';

/** What belongs to the run rather than the invocation. */
export interface RunFacts {
  /** What run-time tokens are filled in with. */
  readonly now: RuntimeTokens['now'];
  /** Asked only where the run is kept. */
  sinkUri(): string;
}

/** Before the invocation looks where to go on: an interrupted undo decides that. */
export async function finishUndo({ env, row, sink, state, stateKey }: Invocation): Promise<void> {
  if (row.rollback === undefined || state === undefined || sink.undo === undefined) return;
  const end = await settleInterrupted({ state, stateKey, undo: sink.undo }).catch(
    (error: unknown) => {
      throw blame('State', row.state?.type ?? 'state', error);
    },
  );
  if (end === 'settled')
    env.log.info(
      'an interrupted rollback was finished: the run goes on after the position it put back',
      { row: row.id },
    );
}

/** `undefined` where the invocation cannot be undone; that is no reason not to run. */
export async function keepRun(
  invocation: Invocation,
  facts: RunFacts,
): Promise<KeptRun | undefined> {
  const { env, row, sink, state, capabilities, id } = invocation;
  const mode =
    row.rollback === undefined ? undefined : undoModeOf(capabilities.writeMode, row.rollback);
  if (row.rollback === undefined || mode === undefined || state === undefined) return undefined;
  if (sink.undo === undefined) {
    const message = `the sink \`${row.sink.type}\` of row \`${row.id}\` cannot undo a run with the config of this run`;
    throw new RunError('Config', 'rollback_unreachable', message, {
      hint: 'use `column_mapping: auto_map`, or remove `rollback`',
    });
  }
  const kept = new KeptRun(invocation, {
    state,
    undo: sink.undo,
    mode,
    retain: row.rollback.retain,
  });
  try {
    await kept.begin(facts);
  } catch (error) {
    env.log.warn('the run cannot be remembered, so it cannot be undone', {
      row: row.id,
      error: messageOf(error),
    });
    return undefined;
  }
  try {
    await sink.undo.record({ runId: id, mode, column: row.rollback.column });
  } catch (error) {
    await kept.end();
    throw blame('Sink', row.sink.type, error);
  }
  return kept;
}

interface Keeping {
  readonly state: StateStore;
  readonly undo: Undo;
  readonly mode: UndoMode;
  readonly retain: number;
}

export class KeptRun {
  readonly #invocation: Invocation;
  readonly #keeping: Keeping;
  readonly #markers: Markers;
  #marker: Marker | undefined;
  #finished = false;

  constructor(invocation: Invocation, keeping: Keeping) {
    this.#invocation = invocation;
    this.#keeping = keeping;
    this.#markers = new Markers(keeping.state, invocation.stateKey);
  }

  async begin(facts: RunFacts): Promise<void> {
    const { env, id, row, labels, stateKey, sink, watermark, capabilities } = this.#invocation;
    const before = await this.#keeping.state.get(stateKey);
    const token =
      watermark === undefined ? {} : { token_before: (await sink.tokens?.last(stateKey)) ?? null };
    this.#marker = {
      run_id: id,
      pipeline: labels.pipeline,
      row: row.id,
      state_key: stateKey,
      started_at: env.clock.now().toISOString(),
      clock: facts.now.date.toISOString(),
      zone: facts.now.zone,
      sink_kind: row.sink.type,
      sink_uri: facts.sinkUri(),
      mode: this.#keeping.mode,
      delivery: row.delivery,
      run_id_column: row.rollback?.column ?? '',
      ...(this.#keeping.mode === 'upsert' ? { key: [...capabilities.key] } : {}),
      ...(before === undefined ? {} : { bookmark_before: before }),
      ...token,
    };
    await this.#markers.put(this.#marker);
    const { runs } = await this.#markers.index();
    await this.#markers.putIndex({ runs: [...runs, id] });
  }

  /** The sink has made its output whole. */
  finished(): void {
    this.#finished = true;
  }

  /**
   * Never throws. An invocation that changed nothing is not kept: it would push out one that did.
   */
  async end(): Promise<void> {
    const { env, row, id, tally, stateKey } = this.#invocation;
    const marker = this.#marker;
    if (marker === undefined) return;
    try {
      if (!(await this.#hasChanged())) return await this.#forget([id]);
      const after = await this.#keeping.state.get(stateKey);
      await this.#markers.put({
        ...marker,
        records_written: tally.written,
        ...(after === undefined ? {} : { bookmark_after: after }),
      });
      await this.#forget(await this.#outdated());
    } catch (error) {
      env.log.warn('what can be undone could not be brought up to date', {
        row: row.id,
        error: messageOf(error),
      });
    }
  }

  async #hasChanged(): Promise<boolean> {
    const { tally, row, stateKey } = this.#invocation;
    if (this.#keeping.mode === 'overwrite') return this.#finished;
    if (tally.written > 0 || row.cleanUp !== undefined) return true;
    return !isSame(await this.#keeping.state.get(stateKey), this.#marker?.bookmark_before);
  }

  /** Beyond the number that is kept, or overwritten: only the last overwrite has its rows kept. */
  async #outdated(): Promise<string[]> {
    const { id } = this.#invocation;
    const { runs } = await this.#markers.index();
    const outdated = new Set(runs.slice(0, Math.max(0, runs.length - this.#keeping.retain)));
    if (this.#keeping.mode !== 'overwrite') return [...outdated];
    for (const marker of await this.#markers.all())
      if (marker.mode === 'overwrite' && marker.run_id !== id) outdated.add(marker.run_id);
    return [...outdated];
  }

  async #forget(runIds: readonly string[]): Promise<void> {
    if (runIds.length === 0) return;
    await this.#keeping.undo.forget(runIds);
    await this.#markers.remove(runIds);
  }
}

/** Whether two stored values are the same, where a value may be missing. */
export function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return canonicalJson(one) === canonicalJson(other);
}
