/** The start positions of the sinks of a graph, and how far all of them have come. */
import { RunError } from '../../lib/errors.ts';
import { jsonEqual, type JsonValue } from '../../lib/text/json.ts';
import type { Start } from '../row/start-position.ts';

export interface PositionsOptions {
  /** Ids of the sink nodes. */
  readonly sinks: readonly string[];
  /** Why no position counts in this graph. */
  readonly startsOver: string | undefined;
  readonly stop: AbortSignal;
  /** Called with the reason when stored positions cannot be used. */
  readonly onReplay: (reason: string) => void;
}

/**
 * Waits until every sink has given its own position or has ended; then all start from one common
 * position.
 */
export class Positions {
  /** Settles when it is decided where the source starts. */
  readonly start: Promise<JsonValue | undefined>;
  readonly #options: PositionsOptions;
  readonly #waiting: Set<string>;
  readonly #own = new Map<string, Start>();
  /** How many pages each sink holds beyond the one furthest behind. */
  readonly #ranks = new Map<string, number>();
  #decide: (start: JsonValue | undefined) => void = () => {};

  constructor(options: PositionsOptions) {
    this.#options = options;
    this.#waiting = new Set(options.sinks);
    this.start = new Promise((resolve) => (this.#decide = resolve));
    if (options.stop.aborted) this.#decide(undefined);
    options.stop.addEventListener('abort', () => this.#decide(undefined), { once: true });
  }

  async agree(sink: string, own: Start): Promise<Start> {
    this.#own.set(sink, own);
    this.gone(sink);
    const bookmark = await this.start;
    own.watermark?.rewind(this.#lowest());
    return { bookmark, watermark: own.watermark };
  }

  /** The sink has ended and will give no position. */
  gone(sink: string): void {
    if (this.#waiting.delete(sink) && this.#waiting.size === 0) this.#decide(this.#common());
  }

  /**
   * Pages of the source that the sink holds and will be offered again, and the position that the
   * last of them must have.
   */
  ahead(sink: string): { readonly pages: number; readonly bookmark: JsonValue | undefined } {
    const own = this.#own.get(sink);
    return { pages: this.#ranks.get(sink) ?? 0, bookmark: own?.bookmark };
  }

  #lowest(): number {
    return Math.min(...[...this.#own.values()].map(({ watermark }) => watermark?.seq ?? 0));
  }

  #common(): JsonValue | undefined {
    const { startsOver, onReplay } = this.#options;
    const starts = [...this.#own.values()];
    const held = starts.filter(({ bookmark }) => bookmark !== undefined);
    if (held.length === 0) return undefined;
    if (startsOver !== undefined) {
      onReplay(startsOver);
      return undefined;
    }
    if (starts.some(({ watermark }) => watermark !== undefined)) return this.#furthestBehind();
    const [first] = held;
    if (
      held.length === starts.length &&
      held.every(({ bookmark }) => jsonEqual(bookmark, first?.bookmark))
    )
      return first?.bookmark;
    onReplay(
      `the sinks stopped at different positions (${held.length} of ${starts.length} have one)`,
    );
    return undefined;
  }

  /**
   * Sinks that hold more leave out what they have: pages are counted from the lowest sequence on.
   */
  #furthestBehind(): JsonValue | undefined {
    const lowest = this.#lowest();
    for (const [sink, { watermark }] of this.#own)
      this.#ranks.set(sink, (watermark?.seq ?? 0) - lowest);
    return [...this.#own.values()].find(({ watermark }) => (watermark?.seq ?? 0) === lowest)
      ?.bookmark;
  }
}

/** Counting pages finds the right place only while the source pages as it did before. */
export function assertSamePage(found: JsonValue, expected: JsonValue | undefined): void {
  if (jsonEqual(found, expected)) return;
  throw new RunError(
    'State',
    'positions_diverged',
    'the source does not give the pages it gave before, so it is not known which of them the sink holds',
    {
      hint: 'clear the state and the commit tokens of all sinks of the graph, and let it read everything again',
    },
  );
}

/** Tells the source how far every sink has come. */
export class Acknowledgements {
  readonly #reached = new Map<string, number>();
  /** Positions that not all sinks have reached, oldest first. */
  readonly #open: JsonValue[] = [];
  /** How many came before the first open one. */
  #closed = 0;
  #abandoned = false;

  constructor(sinks: readonly string[]) {
    for (const sink of sinks) this.#reached.set(sink, 0);
  }

  handedOut(bookmark: JsonValue): void {
    if (!this.#abandoned) this.#open.push(bookmark);
  }

  /** One sink will not get there: nothing more can be acknowledged. */
  abandon(): void {
    this.#abandoned = true;
    this.#open.length = 0;
  }

  /** The newest position that all sinks have reached now, when that is a new one. */
  reached(sink: string, bookmark: JsonValue): JsonValue | undefined {
    let at = Math.max(0, (this.#reached.get(sink) ?? 0) - this.#closed);
    while (at < this.#open.length && !jsonEqual(this.#open[at], bookmark)) at += 1;
    if (at >= this.#open.length) return undefined;
    this.#reached.set(sink, at + this.#closed + 1);
    const all = Math.min(...this.#reached.values());
    if (all <= this.#closed) return undefined;
    const done = this.#open.splice(0, all - this.#closed);
    this.#closed = all;
    return done.at(-1);
  }
}
