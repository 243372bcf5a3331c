/**
 * Keyed writing: the config fields that all keyed sinks share, and what one page changes at the
 * destination.
 */
import { z } from 'zod';
import { ConnectorError, RecordError } from '../lib/errors.ts';
import {
  canonicalJson,
  hasField,
  isObject,
  jsonText,
  type JsonObject,
  type JsonValue,
} from '../lib/text/json.ts';
import { finding, text } from './schema.ts';
import type { Rejection, WriteMode, WriteResult } from './sink.ts';

/**
 * `write_mode`, `key` and `delete_marker` for a sink with these `modes` (the first is the default).
 * Check the result with `checkWriteFields`.
 */
export function writeFields<const M extends WriteMode>(modes: readonly [M, ...M[]]) {
  const markerAllowed = (modes as readonly WriteMode[]).includes('upsert');
  const marker = z.strictObject({
    field: text().meta({
      description: 'Field that marks a record as a deletion; it is never written.',
    }),
    values: z
      .array(z.union([z.string(), z.number(), z.boolean()]))
      .min(1)
      .meta({
        description:
          'Values of that field that mean: delete the row with this key. A text is no number, and `true` no text.',
        examples: [['d'], [true], [1]],
      }),
  });
  return {
    write_mode: z.preprocess(absent, z.enum(modes).default(modes[0])).meta({
      description:
        'What a record does to the destination: add a row, replace the row with its key, delete that row, or replace everything.',
    }),
    key: z.preprocess(absent, z.array(text()).default([])).meta({
      description: 'Columns that identify a row; required by `upsert` and `delete`.',
      examples: [['id']],
    }),
    delete_marker: z.preprocess(absent, (markerAllowed ? marker : z.undefined()).optional()).meta({
      description:
        'Upsert only: records whose `field` holds one of `values` delete the row with their key.',
    }),
  };
}

type MarkerValue = string | number | boolean;

/** The field that marks a record as a deletion, and the values that it has then. */
export interface DeleteMarker {
  readonly field: string;
  readonly values: ReadonlySet<MarkerValue>;
}

export interface WriteFields {
  readonly write_mode: WriteMode;
  readonly key: readonly string[];
  readonly delete_marker?:
    | { readonly field: string; readonly values: readonly MarkerValue[] }
    | undefined;
}

/** Rules between the fields, for use in `superRefine`. */
export function checkWriteFields(
  config: WriteFields,
  ctx: { addIssue(issue: ReturnType<typeof finding>): void },
): void {
  if (isKeyed(config.write_mode) && config.key.length === 0) {
    ctx.addIssue(
      finding('missing_key', `\`write_mode: ${config.write_mode}\` needs \`key\``, {
        path: ['key'],
        hint: 'list the columns that identify a row, e.g. `key: [id]`',
      }),
    );
  }
  if (new Set(config.key).size < config.key.length) {
    ctx.addIssue(finding('invalid_value', '`key` names a column twice', { path: ['key'] }));
  }
  const marker = config.delete_marker;
  if (marker === undefined) return;
  if (config.write_mode !== 'upsert') {
    ctx.addIssue(
      finding('invalid_value', '`delete_marker` works only with `write_mode: upsert`', {
        path: ['delete_marker'],
      }),
    );
  }
  if (config.key.includes(marker.field)) {
    ctx.addIssue(
      finding('invalid_value', '`delete_marker.field` must not be a key column', {
        path: ['delete_marker', 'field'],
      }),
    );
  }
}

export function isKeyed(mode: WriteMode): boolean {
  return mode === 'upsert' || mode === 'delete';
}

export interface KeyedSpec {
  readonly mode: 'upsert' | 'delete';
  readonly key: readonly string[];
  readonly marker?: DeleteMarker;
  /**
   * When two keys mean the same row. `value`: equal JSON values. `text`: equal as text, for
   * destinations that convert every key to the type of its column, so that `1` and `"1"` are the
   * same.
   */
  readonly sameKey: 'value' | 'text';
  /** Whether a record takes the place of the whole old one, also of fields that it does not have. */
  readonly replaces?: true;
}

export function keyedSpec(
  config: WriteFields,
  sameKey: KeyedSpec['sameKey'],
): KeyedSpec | undefined {
  const { write_mode: mode, key, delete_marker: marker } = config;
  if (mode !== 'upsert' && mode !== 'delete') return undefined;
  const base = { mode, key, sameKey };
  return marker === undefined ? base : { ...base, marker: deleteMarker(marker) };
}

export function deleteMarker(config: NonNullable<WriteFields['delete_marker']>): DeleteMarker {
  return { field: config.field, values: new Set(config.values) };
}

/** Whether the record is a deletion. */
export function hasMarker(record: JsonObject, { field, values }: DeleteMarker): boolean {
  const value = hasField(record, field) ? record[field] : null;
  if (typeof value === 'bigint') return false;
  return typeof value !== 'object' && value !== undefined && values.has(value);
}

export interface PlannedRecord {
  /** Index in the page of the last record with this key. */
  readonly index: number;
  readonly record: JsonObject;
  /**
   * Whether an earlier record of the page deletes the row with this key: nothing of that row may
   * stay.
   */
  readonly replaces?: true;
}

/**
 * What one page changes. Every key occurs once in `upserts` and `deletes` together, so both can be
 * applied in any order.
 */
export interface KeyedPlan {
  /** Records to write, without the marker field. */
  readonly upserts: readonly PlannedRecord[];
  readonly deletes: readonly PlannedRecord[];
  /** Records without a usable key. */
  readonly rejected: readonly Rejection[];
}

/**
 * The last record with a key wins and is written at the place of the first. Fields that it does not
 * have stay as an earlier record of the page has them, as if each record were a page of its own;
 * not so where records replace the whole old one.
 */
export function planKeyedPage(records: readonly JsonValue[], spec: KeyedSpec): KeyedPlan {
  const winners = new Map<string, PlannedRecord>();
  const rejected: Rejection[] = [];
  for (const [index, record] of records.entries()) {
    const fault = keyFault(record, spec.key);
    if (fault === undefined) {
      const id = identityOf(record as JsonObject, spec);
      winners.set(id, winnerOf(index, record as JsonObject, { before: winners.get(id), spec }));
    } else rejected.push({ index, error: new RecordError('Sink', fault) });
  }
  const upserts: PlannedRecord[] = [];
  const deletes: PlannedRecord[] = [];
  for (const winner of winners.values()) {
    if (spec.mode === 'delete' || isMarked(winner.record, spec)) deletes.push(winner);
    else
      upserts.push(
        spec.marker === undefined
          ? winner
          : { ...winner, record: without(winner.record, spec.marker.field) },
      );
  }
  return { upserts, deletes, rejected };
}

function winnerOf(
  index: number,
  record: JsonObject,
  { before, spec }: { readonly before: PlannedRecord | undefined; readonly spec: KeyedSpec },
): PlannedRecord {
  const winner = { index, record: over(before?.record, record, spec) };
  if (before === undefined || spec.marker === undefined) return winner;
  return before.replaces === true || isMarked(before.record, spec)
    ? { ...winner, replaces: true }
    : winner;
}

/** Returns the rejections when single records may be rejected, and fails the page otherwise. */
export function settle(
  count: number,
  rejected: readonly Rejection[],
  partial: boolean,
): WriteResult {
  const [first] = rejected;
  if (first !== undefined && !partial) {
    const what =
      rejected.length === 1
        ? 'a record cannot be written'
        : `${rejected.length} records cannot be written; the first`;
    throw new ConnectorError('data', `${what}: ${first.error.message}`, {
      record: first.index,
      hint: 'repair the records, or configure a `dlq` that receives them',
      cause: first.error,
    });
  }
  return { written: count - rejected.length, rejected };
}

function keyFault(record: JsonValue, key: readonly string[]): string | undefined {
  if (!isObject(record)) return 'the record is not an object';
  for (const column of key) {
    if (!hasField(record, column)) return `key column \`${column}\` is missing`;
    if (record[column] === null) return `key column \`${column}\` is null`;
  }
  return undefined;
}

function identityOf(record: JsonObject, spec: KeyedSpec): string {
  const write = spec.sameKey === 'text' ? jsonText : canonicalJson;
  const [only] = spec.key;
  if (spec.key.length === 1 && only !== undefined) return write(record[only] ?? null);
  return JSON.stringify(spec.key.map((column) => write(record[column] ?? null)));
}

/** Deletions are whole: nothing of an earlier record outlives them. */
function over(before: JsonObject | undefined, record: JsonObject, spec: KeyedSpec): JsonObject {
  if (before === undefined || spec.mode === 'delete' || spec.replaces === true) return record;
  if (isMarked(before, spec) || isMarked(record, spec)) return record;
  return Object.keys(before).every((field) => hasField(record, field))
    ? record
    : { ...before, ...record };
}

function isMarked(record: JsonObject, spec: KeyedSpec): boolean {
  return spec.marker !== undefined && hasMarker(record, spec.marker);
}

function without(record: JsonObject, field: string): JsonObject {
  if (!hasField(record, field)) return record;
  const { [field]: _removed, ...rest } = record;
  return rest;
}

function absent(value: unknown): unknown {
  return value === null ? undefined : value;
}
