/**
 * Digests of the parts of a key range on both sides: asked of the stores where both compute them
 * alike, otherwise made of what is read.
 */
import { jsonText, type JsonObject } from '../../lib/text/json.ts';
import type { KeySpan } from '../../kit/source.ts';
import { connectorErrorOf } from '../failure.ts';
import type { Comparison } from './comparison.ts';
import { wholeNumber } from '../../lib/whole-number.ts';
import { ALL_KEYS, holds, partOf } from './key-ranges.ts';
import { EMPTY_RANGE, RecordDigest, type RangeDigest } from './record-digest.ts';
import type { Side } from './side.ts';

/** A record left its key range: the stages of the row change keys, so ranges cannot be compared. */
export class KeyMoved extends Error {}

export interface DigestPair {
  readonly source: RangeDigest;
  readonly destination: RangeDigest;
}

export interface RangeDigests {
  readonly byServer: boolean;
  /** What the stores said of everything between the first cuts, which they answer for at once. */
  readonly first?: readonly DigestPair[];
  /** For each part of the span between the cuts. */
  of(span: KeySpan, cuts: readonly bigint[]): Promise<DigestPair[]>;
}

export async function rangeDigests(
  comparison: Comparison,
  key: string,
  cuts: readonly bigint[],
): Promise<RangeDigests> {
  const { source, destination } = comparison;
  const asked = await serverDigests(comparison, key, cuts);
  if (asked !== undefined) return asked;
  return {
    byServer: false,
    of: async (span, between) => {
      const of = (side: Side): Promise<RangeDigest[]> =>
        readDigests(side, { key, span, cuts: between }, comparison);
      return paired(await Promise.all([of(source), of(destination)]));
    },
  };
}

async function serverDigests(
  { source, destination, counts, log }: Comparison,
  key: string,
  firstCuts: readonly bigint[],
): Promise<RangeDigests | undefined> {
  const digests = source.slices?.digests;
  if (
    source.type !== destination.type ||
    digests === undefined ||
    !source.untouched ||
    !destination.untouched
  )
    return undefined;
  const shapes = await Promise.all([source.shape(), destination.shape()]);
  const columns = [
    ...new Set(shapes.flatMap((shape) => shape.columns.map(({ name }) => name))),
  ].filter((name) => name === key || counts(name));
  const [one, other] = shapes.map((shape) => digests.algorithm(shape, columns));
  if (one !== other) return undefined;
  const of = async (span: KeySpan, cuts: readonly bigint[]): Promise<DigestPair[]> => {
    const ask = async (side: Side): Promise<RangeDigest[]> => {
      const shape = await side.shape();
      const records = await side.ask((slices, config) =>
        slices.digests?.config(config, { key, cuts, spans: [span], columns, shape }),
      );
      return partsFrom(records, cuts.length + 1);
    };
    return paired(await Promise.all([ask(source), ask(destination)]));
  };
  try {
    return { byServer: true, of, first: await of(ALL_KEYS, firstCuts) };
  } catch (error) {
    // An old server lacks a function.
    if (connectorErrorOf(error) === undefined) throw error;
    log.info(
      'source or destination cannot compute digests, so they are computed from the records read',
      {
        error: (error as Error).message,
      },
    );
    return undefined;
  }
}

function partsFrom(records: readonly JsonObject[], parts: number): RangeDigest[] {
  const digests: RangeDigest[] = Array.from({ length: parts }, () => EMPTY_RANGE);
  for (const { part = null, rows, low, high, digest: content = null } of records) {
    const digest = jsonText(content);
    const place = part === null ? parts - 1 : Number(part);
    const known = digests[place] ?? EMPTY_RANGE;
    const [lowest, highest] = [wholeNumber(low) ?? known.low, wholeNumber(high) ?? known.high];
    digests[place] = {
      rows: known.rows + Number(rows),
      // Those without a key come by themselves and belong to the last part: first or last, their
      // text is told apart.
      digest: part === null ? `${known.digest}null ${digest}` : `${digest} ${known.digest}`,
      ...(lowest === undefined || highest === undefined ? {} : { low: lowest, high: highest }),
    };
  }
  return digests;
}

interface Part {
  readonly key: string;
  readonly span: KeySpan;
  readonly cuts: readonly bigint[];
}

async function readDigests(
  side: Side,
  { key, span, cuts }: Part,
  { forms }: Comparison,
): Promise<RangeDigest[]> {
  const digests = Array.from({ length: cuts.length + 1 }, () => new RecordDigest());
  for await (const records of side.read({ key, spans: [span] })) {
    for (const record of records) {
      const value = keyOf(record, key);
      if (!holds(span, value)) throw new KeyMoved();
      const place = value === undefined ? cuts.length : partOf(value, cuts);
      digests[place]?.add(`${forms.key(record)} ${forms.text(record)}`, value);
    }
  }
  return digests.map((digest) => digest.result());
}

/** The key of a record read in parts: absent, or a whole number. */
export function keyOf(record: JsonObject, key: string): bigint | undefined {
  const value = record[key] ?? null;
  if (value === null) return undefined;
  const whole = typeof value === 'string' ? undefined : wholeNumber(value);
  if (whole === undefined) throw new KeyMoved();
  return whole;
}

function paired([source = [], destination = []]: readonly RangeDigest[][]): DigestPair[] {
  return source.map((one, index) => ({
    source: one,
    destination: destination[index] ?? EMPTY_RANGE,
  }));
}
