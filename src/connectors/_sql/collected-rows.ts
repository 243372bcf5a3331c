/** Rows of several pages, collected for one load, in sinks that only append. */
import type { Hold, LiveColumn } from './driver.ts';

/** Encoded rows, of the same columns. */
export interface EncodedRows<R> {
  readonly columns: readonly LiveColumn[];
  readonly rows: readonly R[];
  /** About the size of the rows. */
  readonly bytes: number;
}

export interface CommitLimits {
  readonly commit_rows?: number | undefined;
  readonly commit_bytes?: number | undefined;
}

const DEFAULT_COMMIT_BYTES = 64 * 1024 * 1024;

/** Whether the sink keeps rows of a page for later. */
export function collectsRows({ commit_rows, commit_bytes }: CommitLimits): boolean {
  return (commit_rows ?? commit_bytes) !== undefined;
}

export class CollectedRows<R> {
  readonly #limits: CommitLimits;
  readonly #load: (parts: readonly EncodedRows<R>[]) => Promise<void>;
  #parts: EncodedRows<R>[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(limits: CommitLimits, load: (parts: readonly EncodedRows<R>[]) => Promise<void>) {
    this.#limits = limits;
    this.#load = load;
  }

  /** Loads the rows, or keeps them where they may wait (`hold`) and the limits are not reached. */
  async add(parts: readonly EncodedRows<R>[], hold: Hold | undefined): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (hold === undefined || !collectsRows(this.#limits)) return this.#load(parts);
    for (const part of parts) this.#keep(part);
    const { commit_rows: most = Infinity, commit_bytes: size = DEFAULT_COMMIT_BYTES } =
      this.#limits;
    const sum = (of: (part: EncodedRows<R>) => number): number =>
      this.#parts.reduce((total, part) => total + of(part), 0);
    if (sum(({ rows }) => rows.length) >= most || sum(({ bytes }) => bytes) >= size)
      await this.commit();
  }

  /** Loads what was kept. After a failure nothing more is loaded. */
  async commit(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const parts = this.#parts;
    this.#parts = [];
    if (parts.length === 0) return;
    try {
      await this.#load(parts);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  #keep(part: EncodedRows<R>): void {
    const at = this.#parts.findIndex((one) => haveSameColumns(one, part));
    const known = this.#parts[at];
    if (known === undefined) this.#parts.push(part);
    else
      this.#parts[at] = {
        columns: known.columns,
        rows: [...known.rows, ...part.rows],
        bytes: known.bytes + part.bytes,
      };
  }
}

function haveSameColumns<R>({ columns }: EncodedRows<R>, other: EncodedRows<R>): boolean {
  return (
    columns.length === other.columns.length &&
    columns.every(({ name }, at) => name === other.columns[at]?.name)
  );
}

/** Parts of at most `most` rows; 0 sets no bound. */
export function inBatches<T>(rows: readonly T[], most: number): (readonly T[])[] {
  if (most === 0 || rows.length <= most) return [rows];
  const batches: (readonly T[])[] = [];
  for (let from = 0; from < rows.length; from += most) batches.push(rows.slice(from, from + most));
  return batches;
}
