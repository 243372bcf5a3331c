/**
 * Cuts the values of an integer key into ranges, compares their digests, cuts those that differ
 * again, and reads only what is left.
 */
import type { KeySpan } from '../../kit/source.ts';
import { connectorErrorOf } from '../failure.ts';
import type { Compared, Comparison } from './comparison.ts';
import { ALL_KEYS, cutsBetween, greatest, holds, least, partsOf } from './key-ranges.ts';
import { wholeNumber } from '../../lib/whole-number.ts';
import { KeyedDiff, type Found } from './keyed-diff.ts';
import {
  KeyMoved,
  keyOf,
  rangeDigests,
  type DigestPair,
  type RangeDigests,
} from './range-digests.ts';
import { isSameContent } from './record-digest.ts';
import type { Side } from './side.ts';

/** Into how many parts a range that differs is cut at once. */
const MOST_PARTS = 64;
/** So much is compared row by row at once. */
const MOST_LEAVES = 32;
const MOST_LEAF_ROWS = 50_000;

/**
 * `undefined` when keys are no single whole number, or one of the sides cannot be asked for parts.
 */
export async function compareRanges(
  comparison: Comparison,
): Promise<Omit<Compared, 'truncated'> | undefined> {
  const { source, destination, key, isDeletion, spec } = comparison;
  const [name, more] = key;
  if (name === undefined || more !== undefined || isDeletion !== undefined) return undefined;
  if (source.slices === undefined || destination.slices === undefined) return undefined;
  const bounds = await Promise.all([boundsOf(source, name), boundsOf(destination, name)]);
  const [one, other] = bounds;
  if (one === undefined || other === undefined) return undefined;
  const [low, high] = [least(one.low, other.low), greatest(one.high, other.high)];
  const cuts = low === undefined || high === undefined ? [] : cutsBetween(low, high, spec.ranges);
  try {
    const walk = new RangeWalk(comparison, name, await rangeDigests(comparison, name, cuts));
    await walk.over(cuts);
    return { strategy: 'range', ...walk.result() };
  } catch (error) {
    if (!(error instanceof KeyMoved)) throw error;
    comparison.log.info(
      'the stages of the row change its key, so everything is compared in one pass',
      { key: name },
    );
    return undefined;
  }
}

interface Bounds {
  readonly low: bigint | undefined;
  readonly high: bigint | undefined;
}

async function boundsOf(side: Side, key: string): Promise<Bounds | undefined> {
  try {
    const [record] = await side.ask((slices, config) => slices.bounds(config, key));
    if (record === undefined || Number(record['strange']) > 0) return undefined;
    return { low: wholeNumber(record['low']), high: wholeNumber(record['high']) };
  } catch (error) {
    // There may be no such column before the stages of the row.
    const kind = connectorErrorOf(error)?.kind;
    if (kind === 'data' || kind === 'missing') return undefined;
    throw error;
  }
}

interface Leaf {
  readonly span: KeySpan;
  readonly pair: DigestPair;
}

class RangeWalk {
  readonly #comparison: Comparison;
  readonly #key: string;
  readonly #digests: RangeDigests;
  readonly #found: Found[] = [];
  #compared = 0;
  #differing = 0;
  #leaves: Leaf[] = [];

  constructor(comparison: Comparison, key: string, digests: RangeDigests) {
    this.#comparison = comparison;
    this.#key = key;
    this.#digests = digests;
  }

  result(): Omit<Compared, 'truncated' | 'strategy'> {
    return {
      found: this.#found,
      ranges_compared: this.#compared,
      ranges_differing: this.#differing,
      server_digests: this.#digests.byServer,
    };
  }

  async over(cuts: readonly bigint[]): Promise<void> {
    const spans = partsOf(ALL_KEYS, cuts);
    // What is read is read range by range, so that a spent budget leaves some compared.
    const { first: all } = this.#digests;
    for (const [index, span] of spans.entries()) {
      const [pair] = all === undefined ? await this.#digests.of(span, []) : [all[index]];
      if (pair === undefined || this.#over) return;
      await this.#look(span, pair);
      await this.#compareLeaves();
      if (this.#over) return;
    }
  }

  /** Nothing more can be found. */
  get #over(): boolean {
    return this.#comparison.budget.exceeded || this.#found.length > this.#comparison.maxDifferences;
  }

  async #look(span: KeySpan, pair: DigestPair): Promise<void> {
    this.#compared += 1;
    if (isSameContent(pair.source, pair.destination)) return;
    this.#differing += 1;
    const { leaf_rows: leafRows } = this.#comparison.spec;
    const rows = Math.max(pair.source.rows, pair.destination.rows);
    const [low, high] = [
      least(pair.source.low, pair.destination.low),
      greatest(pair.source.high, pair.destination.high),
    ];
    if (rows <= leafRows || low === undefined || high === undefined || low === high)
      return this.#addLeaf({ span, pair });
    const cuts = cutsBetween(
      low,
      high,
      Math.min(MOST_PARTS, Math.max(2, Math.ceil(rows / leafRows))),
    );
    const pairs = await this.#digests.of(span, cuts);
    if (this.#comparison.budget.exceeded) return;
    for (const [index, part] of partsOf(span, cuts).entries()) {
      const below = pairs[index];
      if (below !== undefined && !this.#over) await this.#look(part, below);
    }
  }

  async #addLeaf(leaf: Leaf): Promise<void> {
    this.#leaves.push(leaf);
    const rows = this.#leaves.reduce(
      (sum, { pair }) => sum + pair.source.rows + pair.destination.rows,
      0,
    );
    if (this.#leaves.length >= MOST_LEAVES || rows >= MOST_LEAF_ROWS) await this.#compareLeaves();
  }

  /** Row by row, with what is left of the room. */
  async #compareLeaves(): Promise<void> {
    const leaves = this.#leaves;
    this.#leaves = [];
    if (leaves.length === 0 || this.#over) return;
    const { source, destination, forms, budget, maxDifferences, isDeletion, heldBack } =
      this.#comparison;
    const part = { key: this.#key, spans: leaves.map(({ span }) => span) };
    const diff = new KeyedDiff({
      forms,
      room: maxDifferences + 1 - this.#found.length,
      isDeletion,
      heldBack,
    });
    try {
      let rows = 0;
      for await (const records of source.read(part)) {
        for (const record of records)
          if (!part.spans.some((span) => holds(span, keyOf(record, this.#key))))
            throw new KeyMoved();
        rows += records.length;
        diff.addSource(records);
      }
      const sourceWhole = !budget.exceeded;
      const expected = leaves.reduce((sum, { pair }) => sum + pair.source.rows, 0);
      if (sourceWhole && !source.untouched && rows !== expected) throw new KeyMoved();
      for await (const records of destination.read(part)) {
        diff.addDestination(records);
        if (diff.full) break;
      }
      this.#found.push(
        ...diff.finish({ sourceWhole, destinationWhole: !budget.exceeded && !diff.full }),
      );
    } finally {
      diff.close();
    }
  }
}
