/**
 * What the state store remembers of the invocations of a row that can be undone: a marker for each,
 * and an index of them.
 */
import { z } from 'zod';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { StateStore } from '../../kit/state-store.ts';

const markerSchema = z.lazy(() =>
  z.object({
    run_id: z.string(),
    pipeline: z.string(),
    row: z.string(),
    state_key: z.string(),
    started_at: z.string(),
    /** What run-time tokens were filled in with. */
    clock: z.string(),
    /** The time zone of `clock` in run-time tokens; UTC when absent. */
    zone: z.string().optional(),
    sink_kind: z.string(),
    sink_uri: z.string(),
    mode: z.enum(['append', 'upsert', 'overwrite']),
    delivery: z.enum(['at_least_once', 'exactly_once']),
    run_id_column: z.string(),
    /** The key columns of the destination; present when before-images are stored by key. */
    key: z.array(z.string()).optional(),
    /** Present when pages were committed under a watermark; null when there was none before. */
    token_before: z.string().nullable().optional(),
    /** Present when the invocation has ended. */
    records_written: z.number().optional(),
  }),
);
export interface Marker extends Readonly<z.infer<typeof markerSchema>> {
  /** As the store held it; absent when it held none. */
  readonly bookmark_before?: JsonValue;
  /** The same when the invocation had ended. */
  readonly bookmark_after?: JsonValue;
}

const indexSchema = z.lazy(() =>
  z.object({
    /** Oldest first. */
    runs: z.array(z.string()),
    /** The run whose rollback has begun; whether it happened, only the destination knows. */
    undoing: z.string().optional(),
    /** Runs that were rolled back, oldest first. */
    undone: z.array(z.string()).optional(),
  }),
);
/** Runs that are remembered as rolled back. */
const MOST_UNDONE = 100;

export type Index = Readonly<z.infer<typeof indexSchema>>;

/** What of a state store it takes to keep them. */
export type MarkerStore = Pick<StateStore, 'get' | 'put' | 'delete'>;

export class Markers {
  readonly #state: MarkerStore;
  readonly #key: string;

  constructor(state: MarkerStore, stateKey: string) {
    this.#state = state;
    this.#key = `${stateKey}::__rollback__`;
  }

  async index(): Promise<Index> {
    const stored = await this.#state.get(this.#key);
    if (stored === undefined) return { runs: [] };
    const { success, data } = indexSchema.safeParse(stored);
    return success ? data : unreadable(this.#key);
  }

  /** Without `undone`, what was noted of runs that were rolled back stays. */
  async putIndex({ runs, undoing, undone }: Index): Promise<void> {
    const past = undone ?? (await this.index()).undone;
    await this.#state.put(this.#key, {
      runs: [...runs],
      ...(undoing === undefined ? {} : { undoing }),
      ...(past === undefined ? {} : { undone: past }),
    });
  }

  async get(runId: string): Promise<Marker | undefined> {
    const stored = await this.#state.get(this.#markerKey(runId));
    if (stored === undefined) return undefined;
    const { success, data } = markerSchema.safeParse(stored);
    if (!success || !isObject(stored)) return unreadable(this.#markerKey(runId));
    const { bookmark_before: before, bookmark_after: after } = stored;
    return {
      ...data,
      ...(before === undefined ? {} : { bookmark_before: before }),
      ...(after === undefined ? {} : { bookmark_after: after }),
    };
  }

  async put(marker: Marker): Promise<void> {
    await this.#state.put(this.#markerKey(marker.run_id), defined(marker));
  }

  /**
   * Later runs began after what the rolled-back run had read. When they are rolled back too, they
   * must not restore a position beyond it.
   */
  async pullBack({
    run_id: runId,
    bookmark_before: bookmark,
    token_before: token,
  }: Marker): Promise<void> {
    const { runs } = await this.index();
    const place = runs.indexOf(runId);
    for (const later of place === -1 ? [] : runs.slice(place + 1)) {
      const marker = await this.get(later);
      if (marker === undefined) continue;
      const { bookmark_before: _further, ...rest } = marker;
      const isTogether = token !== undefined && marker.token_before !== undefined;
      const position = bookmark === undefined ? {} : { bookmark_before: bookmark };
      await this.put({ ...rest, ...position, ...(isTogether ? { token_before: token } : {}) });
    }
  }

  /** The markers go first: a run without one is only a name. */
  async remove(runIds: readonly string[]): Promise<void> {
    if (runIds.length === 0) return;
    for (const runId of runIds) await this.#state.delete(this.#markerKey(runId));
    const { runs, undoing } = await this.index();
    const left = runs.filter((runId) => !runIds.includes(runId));
    await this.putIndex({
      runs: left,
      ...(undoing === undefined || runIds.includes(undoing) ? {} : { undoing }),
    });
  }

  /** Remembers that a run was rolled back, and forgets what was needed for it. */
  async removeUndone(runId: string): Promise<void> {
    await this.remove([runId]);
    const index = await this.index();
    const undone = [...(index.undone ?? []).filter((known) => known !== runId), runId];
    await this.putIndex({ ...index, undone: undone.slice(-MOST_UNDONE) });
  }

  /** Those of the index that are there, oldest first. */
  async all(): Promise<Marker[]> {
    const { runs } = await this.index();
    const markers = await Promise.all(runs.map((runId) => this.get(runId)));
    return markers.filter((marker) => marker !== undefined);
  }

  #markerKey(runId: string): string {
    return `${this.#key}::${runId}`;
  }
}

function unreadable(key: string): never {
  throw new ConnectorError('data', `the state \`${key}\` does not say what can be undone`, {
    hint: 'restore it, or delete it',
  });
}

function defined(marker: Marker): JsonObject {
  const stored: JsonObject = {};
  for (const [name, value] of Object.entries(marker)) if (value !== undefined) stored[name] = value;
  return stored;
}
