import type { RunFence } from '../history.ts';
import type { OutputQuery, OutputStore, StoredOutput } from '../outputs.ts';

/** A ledger that ends with the process. */
export class MemoryOutputs implements OutputStore {
  readonly #known = new Map<string, StoredOutput>();
  readonly #isHeld: (fence: RunFence) => boolean;

  constructor(isHeld: (fence: RunFence) => boolean = () => true) {
    this.#isHeld = isHeld;
  }

  async putOutputs(outputs: readonly StoredOutput[], by?: RunFence): Promise<boolean> {
    if (by !== undefined && !this.#isHeld(by)) return false;
    for (const output of outputs) {
      const known = this.#known.get(output.id);
      const first = known === undefined ? {} : { first_written_at: known.first_written_at };
      const same =
        known?.deleted_at === null
          ? { pre_existing: known.pre_existing, replaced: output.replaced || known.replaced }
          : {};
      this.#known.set(output.id, { ...output, ...first, ...same });
    }
    return true;
  }

  async listOutputs({
    ids,
    include_deleted,
    limit,
    ...exact
  }: OutputQuery): Promise<readonly StoredOutput[]> {
    const wanted = Object.entries(exact) as [keyof typeof exact, string | undefined][];
    const found = [...this.#known.values()].filter(
      (output) =>
        (ids === undefined || ids.includes(output.id)) &&
        (include_deleted || output.deleted_at === null) &&
        wanted.every(([key, value]) => value === undefined || output[key] === value),
    );
    found.sort((a, b) => compare(b.last_written_at, a.last_written_at) || compare(a.id, b.id));
    return found.slice(0, limit);
  }

  async markDeleted(
    id: string,
    lastWrittenAt: string,
    { at, bytes }: { readonly at: string; readonly bytes: number },
  ): Promise<boolean> {
    const known = this.#known.get(id);
    if (known?.last_written_at !== lastWrittenAt) return false;
    this.#known.set(id, { ...known, deleted_at: at, deleted_bytes: bytes });
    return true;
  }

  async forgetOutputs(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#known.delete(id);
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
