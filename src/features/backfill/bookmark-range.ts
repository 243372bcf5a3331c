/**
 * A backfill by bookmarks: the source begins at one, and records beyond another are dropped before
 * anything sees them.
 */
import { z } from 'zod';
import { RecordError } from '../../lib/errors.ts';
import { jsonText, stringifyJson, parseJson, type JsonValue } from '../../lib/text/json.ts';
import { parseRfc3339 } from '../../lib/time/rfc3339.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { parseFieldPath, readerOf, type FieldPath } from '../../kit/field-path.ts';
import { defineTransform } from '../../kit/transform.ts';
import type { Plan, PlannedRow, PlannedTransform } from '../../plan/plan.ts';
import { fnv1a64 } from '../../lib/text/fnv.ts';
import { refuse } from './units.ts';

export interface BookmarkRange {
  /** Where the source begins; without it, at the start. */
  readonly from: JsonValue | undefined;
  /** The last value that counts. */
  readonly to:
    | { readonly value: JsonValue; readonly field: FieldPath; readonly fieldText: string }
    | undefined;
  readonly descriptor: string;
  readonly hash: string;
}

export interface BookmarkTexts {
  readonly fromBookmark: string | undefined;
  readonly toBookmark: string | undefined;
  readonly bookmarkField: string | undefined;
}

/** `undefined` when no bookmark is named. Throws `RefusedError`. */
export function bookmarkRangeOf(
  { fromBookmark, toBookmark, bookmarkField }: BookmarkTexts,
  name: string,
): BookmarkRange | undefined {
  if (fromBookmark === undefined && toBookmark === undefined) {
    if (bookmarkField !== undefined)
      throw refuse(
        '`--bookmark-field` has no effect without `--to-bookmark`',
        'name both, or neither',
      );
    return undefined;
  }
  if ((toBookmark === undefined) !== (bookmarkField === undefined)) {
    throw refuse(
      '`--to-bookmark` and `--bookmark-field` go together',
      'the field is the one whose values are bookmarks, e.g. `updated_at`',
    );
  }
  const descriptor = [
    'bookmark',
    fromBookmark ?? '',
    toBookmark ?? '',
    bookmarkField ?? '',
    name,
  ].join('|');
  return {
    from: fromBookmark === undefined ? undefined : valueOf(fromBookmark),
    to:
      toBookmark === undefined || bookmarkField === undefined
        ? undefined
        : boundOf(toBookmark, bookmarkField),
    descriptor,
    hash: fnv1a64(descriptor),
  };
}

function boundOf(text: string, fieldText: string): BookmarkRange['to'] {
  const field = parseFieldPath(fieldText);
  if ('error' in field)
    throw refuse(`--bookmark-field: ${field.error}`, 'e.g. `updated_at` or `$.meta.version`');
  return { value: valueOf(text), field, fieldText };
}

/** JSON, or else the text itself. */
function valueOf(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** Drops records beyond the range from the root row. */
export function withinRange(plan: Plan, root: string, { to }: BookmarkRange): Plan {
  if (to === undefined) return plan;
  const bound = boundTransform(to);
  return { ...plan, rows: plan.rows.map((row) => (row.id === root ? bounded(row, bound) : row)) };
}

function bounded(row: PlannedRow, bound: PlannedTransform): PlannedRow {
  const lane = {
    lane: RECORDS_LANE,
    reason: 'records: the range of the backfill looks at a field',
  };
  return { ...row, transforms: [bound, ...row.transforms], lane };
}

function boundTransform({
  value,
  field,
  fieldText,
}: NonNullable<BookmarkRange['to']>): PlannedTransform {
  const read = readerOf(field);
  const definition = defineTransform({
    type: 'backfill_range',
    description: 'Drops what lies beyond the range of a backfill.',
    config: z.strictObject({}),
    examples: [],
    reads: () => ({ kind: 'fields', names: field.slice(0, 1) }),
    columns: () => ({ kind: 'identity' }),
    compile: () => ({
      kind: 'record',
      apply: (record, emit) => {
        if (!isBeyond(read(record), value, fieldText)) emit(record);
      },
    }),
  });
  return {
    path: 'backfill',
    type: definition.type,
    preset: 'default',
    definition,
    config: {},
    deferred: false,
    parsed: {},
    judged: {},
  };
}

/** Throws `RecordError` where the two cannot be compared. */
export function isBeyond(found: JsonValue | undefined, bound: JsonValue, field: string): boolean {
  const [one, other] = [numberOf(found), numberOf(bound)];
  if (one !== undefined && other !== undefined) return one > other;
  if (typeof found === 'string' && typeof bound === 'string') {
    const [at, until] = [parseRfc3339(found), parseRfc3339(bound)];
    return at !== undefined && until !== undefined && at.getTime() !== until.getTime()
      ? at > until
      : found > bound;
  }
  const what = found === undefined ? 'is missing' : `is ${stringifyJson(found).slice(0, 60)}`;
  throw new RecordError(
    'Transform',
    `\`${field}\` ${what}, which cannot be compared with ${jsonText(bound)}`,
  );
}

/** Databases give exact numbers as text. */
function numberOf(value: JsonValue | undefined): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (typeof value === 'string' && /^-?\d{1,30}$/.test(value)) return BigInt(value);
  return undefined;
}
