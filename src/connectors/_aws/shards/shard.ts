/** Shards of a stream: parts of it, each with an order of its own. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';

export interface Shard {
  readonly id: string;
  /** Those that it came from when the stream was split or merged; two where they were merged. */
  readonly parents: readonly string[];
  /** Whether nothing is added to it any more. */
  readonly isClosed: boolean;
}

export type ShardPosition =
  | { readonly type: 'trim_horizon' }
  | { readonly type: 'at_timestamp'; readonly ms: number }
  | { readonly type: 'at_sequence_number'; readonly sequence: string }
  | { readonly type: 'after_sequence_number'; readonly sequence: string }
  /** Behind all that was there at that time. */
  | { readonly type: 'latest'; readonly sinceMs: number };

export interface ShardRecord<R> {
  readonly sequence: string;
  readonly size: number;
  readonly record: R;
}

export interface ShardPage<R> {
  readonly records: readonly ShardRecord<R>[];
  /** Where it goes on; absent at the end of a shard that is closed. */
  readonly next: string | undefined;
  /** How old the newest of these records is beside the newest of the shard, where it is told. */
  readonly behindMs: number | undefined;
  /** Set where that is not told: whether more may be there at once. */
  readonly mayHaveMore?: boolean;
}

/** A service that has streams of shards. Each call is one attempt. */
export interface ShardClient<R> {
  shards(): Promise<readonly Shard[]>;
  iterator(shard: string, at: ShardPosition): Promise<string>;
  records(iterator: string): Promise<ShardPage<R>>;
  /** Whether an iterator was not used for too long, so that a new one is needed. */
  isExpired(error: unknown): boolean;
}

const WHOLE = 'TRIM_HORIZON';
const END = 'SHARD_END';
const SINCE = 'AT_TIMESTAMP:';
const AT = 'AT_SEQUENCE_NUMBER:';

/** What a bookmark says of a shard: the sequence number of its last record, where it has one. */
export function formatPosition(position: ShardPosition | 'end'): string {
  if (position === 'end') return END;
  switch (position.type) {
    case 'trim_horizon':
      return WHOLE;
    case 'at_timestamp':
      return `${SINCE}${position.ms}`;
    case 'latest':
      return `${SINCE}${position.sinceMs}`;
    case 'at_sequence_number':
      return `${AT}${position.sequence}`;
    case 'after_sequence_number':
      return position.sequence;
    default:
      return position satisfies never;
  }
}

function parsePosition(text: string): ShardPosition | 'end' {
  if (text === END) return 'end';
  if (text === WHOLE) return { type: 'trim_horizon' };
  if (text.startsWith(SINCE)) return { type: 'at_timestamp', ms: Number(text.slice(SINCE.length)) };
  if (text.startsWith(AT)) return { type: 'at_sequence_number', sequence: text.slice(AT.length) };
  return { type: 'after_sequence_number', sequence: text };
}

export function bookmarkOf(positions: ReadonlyMap<string, ShardPosition | 'end'>): JsonObject {
  const shards = [...positions].map(([id, position]) => [id, formatPosition(position)]);
  return { shards: Object.fromEntries(shards) as JsonObject };
}

export function positionsIn(bookmark: JsonValue, of: string): Map<string, ShardPosition | 'end'> {
  const shards = isObject(bookmark) ? (bookmark['shards'] ?? null) : null;
  if (!isObject(shards) || Object.values(shards).some((one) => typeof one !== 'string'))
    throw new ConnectorError('data', `the bookmark is none of ${of}`, {
      hint: 'remove it from the state store to start over',
    });
  return new Map(Object.entries(shards).map(([id, text]) => [id, parsePosition(text as string)]));
}
