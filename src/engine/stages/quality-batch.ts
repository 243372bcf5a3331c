import type { BatchCheckConfig } from '../../document/blocks/quality.ts';
import { canonicalJson, type JsonValue } from '../../lib/json.ts';
import { readPath } from './quality-values.ts';

/** What a batch check says about a page: nothing, a sentence about all of it, or a sentence about some records. */
export type BatchFinding = { readonly message: string; readonly records?: readonly number[] } | undefined;

export type BatchCheck = (records: readonly JsonValue[]) => BatchFinding;

export function compileBatchCheck(config: BatchCheckConfig): BatchCheck {
  switch (config.type) {
    case 'row_count':
      return (records) => countFinding('row_count: the page has', 'records', records.length, config);
    case 'null_rate':
      return nullRate(config.field, config.max);
    case 'unique':
      return unique(config.fields);
    case 'distinct_count': {
      const keyOf = keyReader([config.field]);
      return (records) => {
        const distinct = new Set(records.map(keyOf)).size;
        return countFinding(`distinct_count: \`${config.field}\` has`, 'different values', distinct, config);
      };
    }
    default:
      return config satisfies never;
  }
}

interface Bounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

function countFinding(subject: string, noun: string, count: number, { min, max }: Bounds): BatchFinding {
  if (min !== undefined && count < min) return { message: `${subject} ${count} ${noun}, at least ${min} are needed` };
  if (max !== undefined && count > max) return { message: `${subject} ${count} ${noun}, at most ${max} are allowed` };
  return undefined;
}

function nullRate(field: string, max: number): BatchCheck {
  const read = readPath(field);
  return (records) => {
    let nulls = 0;
    for (const record of records) {
      if ((read(record) ?? null) === null) nulls += 1;
    }
    if (records.length === 0 || nulls / records.length <= max) return undefined;
    return { message: `null_rate: ${nulls} of ${records.length} records have no \`${field}\`, the largest share allowed is ${max}` };
  };
}

function unique(fields: readonly string[]): BatchCheck {
  const keyOf = keyReader(fields);
  const message = `unique: another record of the page has the same ${fields.map((field) => `\`${field}\``).join(', ')}`;
  return (records) => {
    const seen = new Set<string>();
    const repeated: number[] = [];
    for (const [i, record] of records.entries()) {
      const before = seen.size;
      if (seen.add(keyOf(record)).size === before) repeated.push(i);
    }
    return repeated.length === 0 ? undefined : { message, records: repeated };
  };
}

/** Equal values give equal text; a missing value is unlike any other, null included. */
function keyReader(fields: readonly string[]): (record: JsonValue) => string {
  const readers = fields.map(readPath);
  const textOf = (value: JsonValue | undefined): string => (value === undefined ? '-' : canonicalJson(value));
  const [only] = readers;
  if (only !== undefined && readers.length === 1) return (record) => textOf(only(record));
  return (record) => readers.map((read) => textOf(read(record))).join('\n');
}
