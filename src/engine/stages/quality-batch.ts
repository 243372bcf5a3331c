import type { BatchCheckConfig } from '../../blocks/quality/schema.ts';
import { canonicalJson, type JsonValue } from '../../lib/text/json.ts';
import { pathReader } from './quality-values.ts';
import type { PageInWork } from './stage.ts';

/**
 * What a batch check says about a page: nothing, a sentence about all of it, or a sentence about
 * some records.
 */
export type BatchFinding =
  | { readonly message: string; readonly records?: readonly number[] }
  | undefined;

export type BatchCheck = (page: PageInWork) => BatchFinding;

export function compileBatchCheck(config: BatchCheckConfig): BatchCheck {
  switch (config.type) {
    case 'row_count':
      return (page) => countFinding('row_count: the page has', 'records', page.count, config);
    case 'null_rate':
      return nullRate(config.field, config.max);
    case 'unique':
      return unique(config.fields);
    case 'distinct_count': {
      const keysIn = keyReader([config.field]);
      return (page) => {
        const distinct = new Set(keysIn(page)).size;
        return countFinding(
          `distinct_count: \`${config.field}\` has`,
          'different values',
          distinct,
          config,
        );
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

function countFinding(
  subject: string,
  noun: string,
  count: number,
  { min, max }: Bounds,
): BatchFinding {
  if (min !== undefined && count < min)
    return { message: `${subject} ${count} ${noun}, at least ${min} are needed` };
  if (max !== undefined && count > max)
    return { message: `${subject} ${count} ${noun}, at most ${max} are allowed` };
  return undefined;
}

function nullRate(field: string, max: number): BatchCheck {
  const readerIn = pathReader(field);
  return (page) => {
    const read = readerIn(page);
    let nulls = 0;
    for (let position = 0; position < page.count; position += 1) {
      if ((read(position) ?? null) === null) nulls += 1;
    }
    if (page.count === 0 || nulls / page.count <= max) return undefined;
    return {
      message: `null_rate: ${nulls} of ${page.count} records have no \`${field}\`, the largest share allowed is ${max}`,
    };
  };
}

function unique(fields: readonly string[]): BatchCheck {
  const keysIn = keyReader(fields);
  const message = `unique: another record of the page has the same ${fields.map((field) => `\`${field}\``).join(', ')}`;
  return (page) => {
    const seen = new Set<string>();
    const repeated: number[] = [];
    for (const [position, key] of keysIn(page).entries()) {
      const before = seen.size;
      if (seen.add(key).size === before) repeated.push(position);
    }
    return repeated.length === 0 ? undefined : { message, records: repeated };
  };
}

/** Equal values give equal text; a missing value is unlike any other, null included. */
function keyReader(fields: readonly string[]): (page: PageInWork) => string[] {
  const readersIn = fields.map(pathReader);
  const textOf = (value: JsonValue | undefined): string =>
    value === undefined ? '-' : canonicalJson(value);
  return (page) => {
    const readers = readersIn.map((readerIn) => readerIn(page));
    const [only] = readers;
    const keyAt =
      only !== undefined && readers.length === 1
        ? (position: number) => textOf(only(position))
        : (position: number) => readers.map((read) => textOf(read(position))).join('\n');
    return Array.from({ length: page.count }, (_, position) => keyAt(position));
  };
}
