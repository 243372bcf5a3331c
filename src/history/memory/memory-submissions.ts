import type { SharedText, StoredSubmission } from '../history.ts';

/** Submissions of ended runs that are kept, so that these can be run again. */
const ENDED = 10_000;

interface Held {
  readonly text: SharedText;
  uses: number;
}

/** Equal texts are held once. Bounded: the oldest ended runs make room for new ones. */
export class MemorySubmissions {
  readonly #submissions = new Map<string, StoredSubmission>();
  readonly #texts = new Map<string, Held>();
  /** Runs that have ended, the oldest first. */
  readonly #ended = new Set<string>();

  put(runId: string, { content, document, base }: StoredSubmission): void {
    this.#submissions.set(runId, {
      content,
      ...(document === undefined ? {} : { document: this.#share(document) }),
      ...(base === undefined ? {} : { base: this.#share(base) }),
    });
  }

  get(runId: string): StoredSubmission | undefined {
    return this.#submissions.get(runId);
  }

  has(runId: string): boolean {
    return this.#submissions.has(runId);
  }

  end(runId: string): void {
    if (!this.#submissions.has(runId)) return;
    this.#ended.add(runId);
    const [oldest = runId] = this.#ended;
    if (this.#ended.size > ENDED) this.erase(oldest);
  }

  erase(runId: string): void {
    const submission = this.#submissions.get(runId);
    this.#submissions.delete(runId);
    this.#ended.delete(runId);
    for (const text of [submission?.document, submission?.base])
      if (text !== undefined) this.#release(text);
  }

  /** Texts that are held, for tests. */
  get texts(): number {
    return this.#texts.size;
  }

  #share(text: SharedText): SharedText {
    const held = this.#texts.get(text.hash) ?? { text, uses: 0 };
    held.uses += 1;
    this.#texts.set(text.hash, held);
    return held.text;
  }

  #release({ hash }: SharedText): void {
    const held = this.#texts.get(hash);
    if (held === undefined) return;
    held.uses -= 1;
    if (held.uses === 0) this.#texts.delete(hash);
  }
}
