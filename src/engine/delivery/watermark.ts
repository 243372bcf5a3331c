/**
 * Exactly once by a watermark that the sink commits together with the records: a page that is read
 * again is known by its place in the sequence of committed pages, and left out (spec 2.10).
 */
import { ConnectorError } from '../../lib/errors.ts';
import {
  isObject,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import type { Page } from '../../kit/page.ts';
import type { TokenWriter, WriteResult } from '../../kit/sink.ts';

export const PAGES_SKIPPED = defineMetric({
  name: 'svc_pipeline_pages_skipped_total',
  type: 'counter',
  help: 'Pages that were not written again because the sink had committed them.',
  labels: ['pipeline', 'row'],
});

/** A stored value with this key is a position; any other is a bare bookmark. */
const MARKER = '__svc_commit';
/** The same, in state stores that another implementation of the grammar has filled. */
const OTHER_MARKER = '__svc_eo';
const DIGITS = 20;

export interface SequencePosition {
  readonly bookmark: JsonValue | undefined;
  /** Pages committed so far. */
  readonly seq: number;
}

/** A bare bookmark, as runs without this guarantee store it, starts a new sequence. */
export function readPosition(stored: JsonValue | undefined): SequencePosition {
  if (!isObject(stored) || (stored[MARKER] ?? stored[OTHER_MARKER]) !== 1)
    return { bookmark: stored, seq: 0 };
  const { bookmark, seq } = stored;
  return { bookmark, seq: typeof seq === 'number' ? seq : 0 };
}

export function positionValue(bookmark: JsonValue, seq: number): JsonObject {
  return { [MARKER]: 1, bookmark, seq };
}

export function tokenText(seq: number, bookmark: JsonValue): string {
  return `${String(seq).padStart(DIGITS, '0')}#${stringifyJson(bookmark)}`;
}

/** Tokens may also be a sequence number alone. */
export function readToken(token: string | undefined): SequencePosition {
  if (token === undefined) return { bookmark: undefined, seq: 0 };
  const match = /^(\d{1,20})(?:#(.*))?$/s.exec(token);
  try {
    if (match !== null)
      return {
        seq: Number(match[1]),
        bookmark: match[2] === undefined ? undefined : parseJson(match[2]),
      };
  } catch {
    // Told below, like every other text that is not a token.
  }
  throw new ConnectorError('data', 'the commit token at the destination cannot be read', {
    hint: 'another program wrote to the token table; repair or remove the row of this pipeline',
  });
}

/** Where an invocation starts, and what it has to store. */
export class Watermark {
  /** Where the source starts. */
  readonly bookmark: JsonValue | undefined;
  /** Pages that were committed but not remembered, and that the source need not read again. */
  readonly recovered: number;
  readonly #tokens: TokenWriter;
  readonly #scope: string;
  /** Pages the sink has committed. */
  readonly #committed: number;
  #seq: number;
  #held = 0;

  private constructor(
    tokens: TokenWriter,
    scope: string,
    found: { stored: SequencePosition; committed: SequencePosition },
  ) {
    const { stored, committed } = found;
    const isAhead = committed.seq > stored.seq && committed.bookmark !== undefined;
    this.#tokens = tokens;
    this.#scope = scope;
    this.#committed = committed.seq;
    this.#seq = isAhead ? committed.seq : stored.seq;
    this.bookmark = isAhead ? committed.bookmark : stored.bookmark;
    this.recovered = isAhead ? committed.seq - stored.seq : 0;
  }

  static async open(
    tokens: TokenWriter,
    scope: string,
    stored: SequencePosition,
  ): Promise<Watermark> {
    return new Watermark(tokens, scope, { stored, committed: readToken(await tokens.last(scope)) });
  }

  /** Records of pages that were handed over and whose commit has not come yet. */
  get held(): number {
    return this.#held;
  }

  /**
   * Whether the sink has the next page with a bookmark already, and with it those without one
   * before it.
   */
  get isBehind(): boolean {
    return this.#seq < this.#committed;
  }

  /** A page without a bookmark is committed with the next one that has one. */
  async hold(page: Page): Promise<void> {
    await this.#tokens.hold(page);
    this.#held += page.count;
  }

  /** How many pages lie before the start position. */
  get seq(): number {
    return this.#seq;
  }

  /**
   * Goes on from an earlier page than the sink holds: those it has are left out as they come by.
   */
  rewind(seq: number): void {
    this.#seq = Math.min(this.#seq, seq);
  }

  /** Moves on to the next page; true when the sink has it already. */
  advance(): boolean {
    this.#seq += 1;
    return this.#seq <= this.#committed;
  }

  /** What is stored once the page is durable. */
  stateValue(bookmark: JsonValue): JsonValue {
    return positionValue(bookmark, this.#seq);
  }

  /**
   * Records, also those held, and watermark in one unit. Repeating is safe: a commit whose answer
   * was lost is found by its token.
   */
  commit(page: Page, bookmark: JsonValue): () => Promise<WriteResult> {
    const token = tokenText(this.#seq, bookmark);
    const count = this.#held + page.count;
    let tried = false;
    return async () => {
      const isDone = tried && (await this.#tokens.last(this.#scope)) === token;
      tried = true;
      const result = isDone
        ? { written: count, rejected: [] }
        : await this.#tokens.write(page, this.#scope, token);
      this.#held = 0;
      return result;
    };
  }
}
