/** One time that a row runs: what makes this invocation differ from the others of its row. */
import { ConfigError, RunError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Share } from '../../kit/share.ts';
import type { KeySpan } from '../../kit/source.ts';
import { STATE_KEY } from '../../kit/state-store.ts';
import type { PlannedRow } from '../../plan/plan.ts';

export interface Iteration {
  /**
   * The key of the parent record, or the tuple as `alias=value&…`; null when the row runs once.
   * Told in outcomes.
   */
  readonly key: string | null;
  /** The same where it is part of a state key. */
  readonly keyPart: string | null;
  /** Id of the chunk of a partitioned row. */
  readonly chunk: string | undefined;
  /** The part of a row that is read in parts. */
  readonly shard?: Shard;
  /** Values of run-time tokens, by the name before the first dot. */
  readonly records: ReadonlyMap<string, JsonValue>;
  /** The record of the parent row. */
  readonly parent: JsonValue | undefined;
}

/** One of the parts in which a row is read: a range of a column, or a share of what it reads. */
export type Shard = RangeShard | ShareShard;

export interface RangeShard {
  readonly id: string;
  readonly span: KeySpan;
  readonly share?: never;
}

interface ShareShard {
  readonly id: string;
  readonly share: Share;
  readonly span?: never;
}

/** The iteration of a row that runs once. */
export const SINGLE_ITERATION: Iteration = {
  key: null,
  keyPart: null,
  chunk: undefined,
  records: new Map(),
  parent: undefined,
};

/**
 * The iteration by which a row that runs by itself can be tried out: of a partitioned one its first
 * chunk. Throws `RunError` where that is not known.
 */
export function firstIteration({ id, partition }: Pick<PlannedRow, 'id' | 'partition'>): Iteration {
  if (partition === undefined) return SINGLE_ITERATION;
  const chunk = partition.chunks?.at(0);
  if (chunk !== undefined)
    return {
      ...SINGLE_ITERATION,
      chunk: chunk.id,
      records: new Map([['partition', chunk.tokens]]),
    };
  const why =
    partition.chunks === undefined ? 'its bound is discovered at run time' : 'its range is empty';
  throw new RunError('Config', 'partition_bound', `row \`${id}\` has no chunk to look at: ${why}`, {
    hint: 'write the bound into the document to try the row out',
  });
}

/** Separators in the names of invocations that do a part of their row. */
const PARTS = ['::partition::', '::shard::'] as const;
const [OF_CHUNK, OF_SHARD] = PARTS;

/**
 * `{row}`, `{row}::partition::{chunk}` or `{row}::shard::{shard}`: how outcomes call the
 * invocation.
 */
export function invocationName(row: Pick<PlannedRow, 'id'>, { chunk, shard }: Iteration): string {
  if (shard !== undefined) return `${row.id}${OF_SHARD}${shard.id}`;
  return chunk === undefined ? row.id : `${row.id}${OF_CHUNK}${chunk}`;
}

/**
 * Whether the invocation is all that its row does, as far as one record of a parent or one value
 * goes.
 */
export function isWholeIteration({ chunk, shard }: Iteration): boolean {
  return chunk === undefined && shard === undefined;
}

/** The row of an invocation, by its name in an outcome. */
export function rowOfInvocation(name: string, isRow: (id: string) => boolean): string {
  return isRow(name)
    ? name
    : name.slice(0, Math.max(0, ...PARTS.map((part) => name.lastIndexOf(part))));
}

/**
 * `{name}::{row}`, with the parent key or tuple and the chunk behind it. Throws `ConfigError` when
 * the store cannot hold it.
 */
export function stateKeyOf(row: PlannedRow, { key, keyPart, chunk, shard }: Iteration): string {
  const part = shard === undefined ? (chunk === undefined ? [] : ['partition', chunk]) : [shard.id];
  const stateKey = [row.stateKey, ...(keyPart === null ? [] : [keyPart]), ...part].join('::');
  if (row.state === undefined || (key === null && chunk === undefined) || STATE_KEY.test(stateKey))
    return stateKey;
  throw new ConfigError([
    {
      code: 'invalid_state_key',
      path: row.state.path,
      message: `\`${key ?? chunk}\` cannot be part of a state key: with it the key has ${stateKey.length} characters`,
      hint: 'choose a shorter `parent_key`, or `select` shorter values',
    },
  ]);
}

const OUTSIDE = /[^A-Za-z0-9_\-:.=&/]/gu;
const OUTSIDE_OR_SEPARATOR = /[^A-Za-z0-9_\-:./]/gu;

/** A text as part of a state key: characters that no key may hold are percent-encoded. */
export function keyPartOf(text: string): string {
  return encoded(text, OUTSIDE);
}

/**
 * The value of one dimension: also what separates dimensions is encoded, so that no two tuples
 * share a key.
 */
export function dimensionPartOf(text: string): string {
  return encoded(text, OUTSIDE_OR_SEPARATOR);
}

function encoded(text: string, outside: RegExp): string {
  return text
    .toWellFormed()
    .replaceAll(outside, (one) =>
      [...Buffer.from(one)]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
        .join(''),
    );
}
