/** Which records a filter keeps, and which files may have one of them. */
import { ConnectorError } from '../../../lib/errors.ts';
import { jsonText, type JsonObject } from '../../../lib/text/json.ts';
import { columnOf } from '../../_lake/chosen-columns.ts';
import {
  comparable,
  isBelow,
  type Comparable,
  type Comparison,
} from '../../_lake/column-bounds.ts';
import type { TableFile } from '../metadata/manifests.ts';
import { typeText, type IcebergField } from '../schema/iceberg-types.ts';
import { comparableOfBytes, comparisonOf } from '../schema/single-value.ts';
import { parseFilter, type Comparator, type Filter, type Literal } from './filter-text.ts';

export interface RecordFilter {
  /** The columns that it needs. */
  readonly columns: readonly IcebergField[];
  keeps(record: JsonObject): boolean;
  /** False where the bounds of a file say that it has no such record. */
  mayHave(file: TableFile): boolean;
}

/** Of a comparison with null nothing is known, and such a record is not kept. */
type Truth = boolean | undefined;

interface Test {
  readonly of: (record: JsonObject) => Truth;
  readonly mayBe: (file: TableFile) => boolean;
}

export function recordFilter(
  text: string,
  fields: readonly IcebergField[],
  table: string,
): RecordFilter {
  const columns = new Map<string, IcebergField>();
  const columnFor = (name: string): IcebergField => {
    const field = columnOf(fields, name, table);
    columns.set(name, field);
    return field;
  };
  const test = testOf(parseFilter(text), columnFor);
  return {
    columns: [...columns.values()],
    keeps: (record) => test.of(record) === true,
    mayHave: (file) => test.mayBe(file),
  };
}

function testOf(filter: Filter, columnFor: (name: string) => IcebergField): Test {
  switch (filter.is) {
    case 'and': {
      const tests = filter.parts.map((part) => testOf(part, columnFor));
      return { of: all(tests, false), mayBe: (file) => tests.every((test) => test.mayBe(file)) };
    }
    case 'or': {
      const tests = filter.parts.map((part) => testOf(part, columnFor));
      return { of: all(tests, true), mayBe: (file) => tests.some((test) => test.mayBe(file)) };
    }
    case 'not': {
      const { of } = testOf(filter.part, columnFor);
      const opposite = (record: JsonObject): Truth => {
        const truth = of(record);
        return truth === undefined ? undefined : !truth;
      };
      return { of: opposite, mayBe: () => true };
    }
    case 'null': {
      const { name, id } = columnFor(filter.column);
      return {
        of: (record) => (record[name] ?? null) === null,
        mayBe: (file) => file.nulls.get(id) !== 0,
      };
    }
    case 'compare':
      return comparing(columnFor(filter.column), filter.by, filter.value);
    case 'in': {
      const field = columnFor(filter.column);
      const tests = filter.values.map((value) => comparing(field, '=', value));
      return { of: all(tests, true), mayBe: (file) => tests.some((test) => test.mayBe(file)) };
    }
    default: {
      const { name, type } = columnFor(filter.column);
      if (comparisonOf(type)?.as !== 'text')
        throw wrong(
          `\`starts_with\` needs a column of texts, and \`${name}\` is ${typeText(type)}`,
        );
      return {
        of: (record) => {
          const value = record[name] ?? null;
          return value === null ? undefined : jsonText(value).startsWith(filter.prefix);
        },
        mayBe: () => true,
      };
    }
  }
}

/** `decides`: the truth of one part that is that of the whole. */
function all(tests: readonly Test[], decides: boolean): (record: JsonObject) => Truth {
  return (record) => {
    let known: Truth = !decides;
    for (const { of } of tests) {
      const truth = of(record);
      if (truth === decides) return decides;
      if (truth === undefined) known = undefined;
    }
    return known;
  };
}

function comparing(field: IcebergField, by: Comparator, literal: Literal): Test {
  const { name, type, id } = field;
  const comparison = comparisonOf(type);
  if (comparison === undefined) return comparingEqual(field, by, literal);
  const value = valueOf(literal, comparison, field);
  return {
    of: (record) => {
      const one = record[name] ?? null;
      if (one === null) return undefined;
      const found = comparable(one, comparison);
      return found === undefined ? undefined : holds(found, by, value);
    },
    mayBe: (file) => {
      const [lower, upper] = [file.lower.get(id), file.upper.get(id)];
      const low = lower === undefined ? undefined : comparableOfBytes(lower, type);
      const high = upper === undefined ? undefined : comparableOfBytes(upper, type);
      if (by === '=')
        return !(
          (low !== undefined && isBelow(value, low)) ||
          (high !== undefined && isBelow(high, value))
        );
      if (by === '<' || by === '<=') return low === undefined || !isBelow(value, low);
      return by === '!=' || high === undefined || !isBelow(high, value);
    },
  };
}

function holds(found: Comparable, by: Comparator, value: Comparable): boolean {
  // A number and a bigint are compared by their values.
  const [below, above] = [isBelow(found, value), isBelow(value, found)];
  switch (by) {
    case '=':
      return !below && !above && !Number.isNaN(found);
    case '!=':
      return below || above || Number.isNaN(found);
    case '<':
      return below;
    case '>':
      return above;
    case '<=':
      return below || (!above && !Number.isNaN(found));
    default:
      return above || (!below && !Number.isNaN(found));
  }
}

/** Booleans, identifiers and bytes are the same or not. */
function comparingEqual(field: IcebergField, by: Comparator, literal: Literal): Test {
  const { name, type } = field;
  const isBoolean = type.is === 'primitive' && type.name === 'boolean';
  const isText = type.is === 'fixed' || (type.is === 'primitive' && !isBoolean);
  if ((!isBoolean && !isText) || (by !== '=' && by !== '!='))
    throw wrong(`\`${name}\` is ${typeText(type)}, which cannot be compared by \`${by}\``);
  if (typeof literal !== (isBoolean ? 'boolean' : 'string')) throw noSuch(field, literal);
  return {
    of: (record) => {
      const value = record[name] ?? null;
      return value === null ? undefined : (value === literal) === (by === '=');
    },
    mayBe: () => true,
  };
}

function valueOf(literal: Literal, comparison: Comparison, field: IcebergField): Comparable {
  const isNumber = typeof literal === 'number' || typeof literal === 'bigint';
  const takesNumber = comparison.as === 'number' || comparison.as === 'decimal';
  const text =
    comparison.as === 'moment' && typeof literal === 'string' ? wholeMoment(literal) : literal;
  const value =
    isNumber && !takesNumber
      ? undefined
      : typeof text === 'boolean'
        ? undefined
        : comparable(text, comparison);
  if (value === undefined) throw noSuch(field, literal);
  return value;
}

/** A day stands for its beginning. */
function wholeMoment(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00` : text;
}

function noSuch({ name, type }: IcebergField, literal: Literal): ConnectorError {
  return wrong(`${JSON.stringify(String(literal))} is no ${typeText(type)}, which \`${name}\` is`);
}

function wrong(message: string): ConnectorError {
  return new ConnectorError('data', `\`filter\` cannot be used: ${message}`, {
    hint: 'correct `filter`, or filter with a transform',
  });
}
