/**
 * Positions of an incremental source: comparing them, and writing them in the form that an API
 * expects.
 */
import {
  digestOfRecord,
  MOST_SEEN,
  SeenRecords,
  type StoredBookmark,
} from '../../kit/stored-bookmark.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { hasField, isObject, jsonText, type JsonValue } from '../../lib/text/json.ts';
import type { PositionFormat } from './replication-fields.ts';

/** Less than, equal to or greater than zero; `undefined` when the two are not of one kind. */
export function comparePositions(a: JsonValue, b: JsonValue): number | undefined {
  if (isNumeric(a) && isNumeric(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b);
  return undefined;
}

function compareLists(a: readonly JsonValue[], b: readonly JsonValue[]): number | undefined {
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const order = comparePositions(a[index] ?? null, b[index] ?? null);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function isNumeric(value: JsonValue): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

export type FindKey = (record: JsonValue) => JsonValue | undefined;
export type OnMissingKey = 'keep' | 'drop' | 'fail';

function fieldOf(record: JsonValue, name: string): JsonValue | undefined {
  return isObject(record) && hasField(record, name) ? record[name] : undefined;
}

/**
 * Keeps records from the start position on but for those that an earlier run has read, and remembers
 * the largest position with the records that have it.
 */
export class Progress {
  readonly #find: FindKey;
  readonly #onMissing: OnMissingKey | undefined;
  readonly #start: JsonValue | undefined;
  /** Records at the start that an earlier run has read; `undefined`: all of them. */
  readonly #read: SeenRecords | undefined;
  #furthest: JsonValue | undefined;
  /** Digests of records at the furthest position; `undefined` when a bookmark cannot hold them. */
  #seen: string[] | undefined;
  /** More of them, which nobody has changed yet. */
  #pending: JsonValue[] = [];
  /** Whether some value could not be compared with the start. */
  incomparable = false;
  /** Whether some record was kept that the bookmark tells of. */
  advanced = false;

  /** `key` is the name of a field, or finds the value in a record. */
  constructor(key: string | FindKey, start: StoredBookmark | undefined, onMissing?: OnMissingKey) {
    this.#find = typeof key === 'string' ? (record) => fieldOf(record, key) : key;
    this.#onMissing = onMissing;
    this.#start = start?.value === null ? undefined : start?.value;
    this.#read =
      start !== undefined && start.seen === undefined
        ? undefined
        : new SeenRecords(start?.seen ?? []);
    this.#furthest = this.#start;
    this.#seen =
      start === undefined || start.seen !== undefined ? [...(start?.seen ?? [])] : undefined;
  }

  /** Whether more records have the largest position than a bookmark can hold. */
  get isFull(): boolean {
    return this.advanced && this.#seen === undefined;
  }

  /** The largest position; `undefined` when no record was kept that has one. */
  bookmark(): JsonValue | undefined {
    this.settle();
    if (!this.advanced || this.#furthest === undefined) return undefined;
    return this.#seen === undefined ? this.#furthest : { value: this.#furthest, seen: this.#seen };
  }

  /**
   * One without the key is left out once there is a start, because it may have been read before,
   * unless `onMissing` says otherwise.
   */
  keep(record: JsonValue): boolean {
    const found = this.#find(record);
    if (found === undefined) return this.#keepsWithoutKey();
    const kept = this.#isNew(found, record);
    if (kept && found !== null) this.#advance(found, record);
    return kept;
  }

  /** Call before anybody may change the records. */
  settle(): void {
    if (this.#seen !== undefined) this.#seen.push(...this.#pending.map(digestOfRecord));
    this.#pending = [];
  }

  #keepsWithoutKey(): boolean {
    if (this.#onMissing === undefined) return this.#start === undefined;
    if (this.#onMissing !== 'fail') return this.#onMissing === 'keep';
    throw new ConnectorError('data', 'a record has no value at `replication_key`', {
      hint: 'check the key, or set `on_missing_key` to `keep` or `drop`',
    });
  }

  #isNew(found: JsonValue, record: JsonValue): boolean {
    if (this.#start === undefined) return true;
    const order = comparePositions(found, this.#start);
    if (order === undefined) this.incomparable = true;
    if (order !== 0) return order === undefined || order > 0;
    return this.#read !== undefined && !this.#read.take(record);
  }

  #advance(found: JsonValue, record: JsonValue): void {
    const order = this.#furthest === undefined ? 1 : comparePositions(found, this.#furthest);
    if (order === undefined || order < 0) return;
    if (order > 0) {
      this.#furthest = found;
      [this.#seen, this.#pending] = [[], []];
    }
    this.advanced = true;
    if (this.#seen === undefined) return;
    if (this.#seen.length + this.#pending.length < MOST_SEEN) this.#pending.push(record);
    else [this.#seen, this.#pending] = [undefined, []];
  }
}

const EPOCH = /^-?\d+(\.\d+)?$/;
const DATE_TIME =
  /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * A point in time in milliseconds: RFC 3339, `YYYY-MM-DD`, a date-time without zone (taken as UTC),
 * or epoch seconds.
 */
export function instantOf(value: JsonValue): number | undefined {
  if (isNumeric(value)) return Number(value) * 1000;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (EPOCH.test(text)) return Number(text) * 1000;
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const zoned = text.length === 10 || match[1] !== undefined ? text : `${text}Z`;
  const ms = Date.parse(zoned.replace(' ', 'T'));
  return Number.isNaN(ms) ? undefined : ms;
}

/** RFC 3339 in UTC; milliseconds only when there are any. */
export function isoText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** How a position is written. */
export interface PositionForm {
  readonly template: string;
  readonly format: PositionFormat;
}

/** A position as a bind sends it. Numbers stay numbers where nothing stands around the token. */
export function renderPosition(
  value: JsonValue,
  bind: PositionForm,
  token: string,
): JsonValue | undefined {
  const written = formatted(value, bind.format);
  if (written === undefined) return undefined;
  if (bind.template === token) return written;
  return bind.template.replaceAll(token, () => jsonText(written));
}

function formatted(value: JsonValue, format: PositionFormat): JsonValue | undefined {
  if (format === 'raw') return value;
  const ms = instantOf(value);
  if (ms === undefined) return undefined;
  switch (format) {
    case 'iso8601':
      return isoText(ms);
    case 'date':
      return isoText(ms).slice(0, 10);
    case 'epoch_s':
      return Math.floor(ms / 1000);
    case 'epoch_ms':
      return Math.floor(ms);
    default:
      return format satisfies never;
  }
}
