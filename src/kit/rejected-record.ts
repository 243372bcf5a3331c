/**
 * Records that a source could not read, and that it gives beside those of a page instead of failing.
 * Only sources that read records one by one from text can do so.
 */
import { z } from 'zod';
import type { JsonValue } from '../lib/text/json.ts';

/** Where the text of a record begins. */
export interface RecordPlace {
  /** From 1. */
  readonly line?: number;
  /** From 0; absent where the text was stored in another encoding, or with other lines before it. */
  readonly byte?: number;
}

export interface RejectedRecord {
  /** What is wrong and where. Holds no value of the record. */
  readonly message: string;
  /** The text as read, or the record of which a value does not fit its type. */
  readonly payload: JsonValue;
  /** The same bytes, where they are no text. */
  readonly base64?: string;
  /** What errors call the file. */
  readonly input: string;
  readonly at: RecordPlace;
  /** Index among all records of the page, those that were read and those that were not. */
  readonly index: number;
}

/** Why a record cannot be read, before it is known in which page it is. */
export type UnreadRecord = Omit<RejectedRecord, 'index'>;

/** A text as read, without its line end. */
export function unreadText(
  bytes: Buffer,
  isText: boolean,
): Pick<RejectedRecord, 'payload' | 'base64'> {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 10 || bytes[end - 1] === 13)) end -= 1;
  const line = bytes.subarray(0, end);
  const payload = line.toString('utf8');
  return isText ? { payload } : { payload, base64: line.toString('base64') };
}

/** The index of a record of the page among all that were read, also those that were rejected. */
export function indexAsRead(rejected: readonly RejectedRecord[], index: number): number {
  let place = index;
  for (const one of rejected) {
    if (one.index > place) break;
    place += 1;
  }
  return place;
}

/** What a source does with a record that it cannot read. */
export type OnReadError = 'error' | 'dlq';

export function onReadError(what: string) {
  return z
    .enum(['error', 'dlq'])
    .default('error')
    .meta({
      description: `${what} fails the run (\`error\`), or goes to the dead-letter queue (\`dlq\`) as it was read, and reading goes on behind it.`,
    });
}

/** The lane of sources that reject: each record is looked at. */
export function rejectingLane(encodings: readonly string[]) {
  const why = '`on_error: dlq` looks at each record';
  return { encodings: [], columns: false, recordsBecause: why, without: { encodings, why } };
}
