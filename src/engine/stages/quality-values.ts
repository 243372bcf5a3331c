import {
  compileJsonSchema,
  numberIn,
  type RecordCheckConfig,
} from '../../blocks/quality/schema.ts';
import { columnReader } from '../../kit/cells.ts';
import { readerOf } from '../../kit/field-path.ts';
import { stepsOf } from '../../kit/path-field.ts';
import { assert } from '../../lib/errors.ts';
import { isObject, jsonEqual, type JsonValue } from '../../lib/text/json.ts';
import { re2js } from '../../lib/lazy.ts';
import { memberOf } from '../../lib/member-of.ts';
import type { PageInWork } from './stage.ts';

type Value = JsonValue | undefined;

/** Reads the values at a path, by the position of their record in the page. */
export type FieldReader = (position: number) => Value;

/** Finds values at a path that the schema has accepted, in a page of any form. */
export function pathReader(path: string): (page: PageInWork) => FieldReader {
  const steps = stepsOf(path);
  const read = readerOf(steps);
  return (page) => {
    const { columns } = page;
    if (columns !== undefined) {
      const valueAt = columnReader(columns, steps);
      return (position) => valueAt(columns.rows[position] as number);
    }
    const { records } = page;
    return (position) => read(records[position] as JsonValue);
  };
}

/**
 * What is wrong with a record, or `undefined`. Sentences name fields and rules and never hold data.
 */
export type RecordCheck = (position: number) => string | undefined;

export function compileRecordCheck(config: RecordCheckConfig): (page: PageInWork) => RecordCheck {
  if (config.type === 'json_schema') {
    const problem = compileJsonSchema(config.schema);
    return ({ records }) =>
      (position) => {
        const found = problem(withoutBigInts(records[position] as JsonValue));
        return found === undefined ? undefined : `json_schema: ${found}`;
      };
  }
  const readerIn = pathReader(config.field);
  const { passes, demand } = valueCheck(config);
  const sentence = `${config.type}: \`${config.field}\` ${demand}`;
  return (page) => {
    const read = readerIn(page);
    return (position) => (passes(read(position)) ? undefined : sentence);
  };
}

interface ValueCheck {
  readonly passes: (value: Value) => boolean;
  readonly demand: string;
}

function valueCheck(config: Exclude<RecordCheckConfig, { type: 'json_schema' }>): ValueCheck {
  switch (config.type) {
    case 'not_null': {
      const missingPasses = !config.treat_missing_as_null;
      return {
        passes: (value) => (value === undefined ? missingPasses : value !== null),
        demand: 'must not be null',
      };
    }
    case 'not_empty':
      return {
        passes: (value) => typeof value === 'string' && value.trim() !== '',
        demand: 'must be a text that is not blank',
      };
    case 'regex_match': {
      const pattern = re2js().RE2JS.compile(config.pattern);
      return {
        passes: (value) => typeof value === 'string' && pattern.test(value),
        demand: `must match \`${config.pattern}\``,
      };
    }
    case 'value_in_set': {
      const isMember = memberOf(config.values);
      return { passes: isMember, demand: 'must be one of the allowed values' };
    }
    case 'not_in_set': {
      const isMember = memberOf(config.values);
      return {
        passes: (value) => !isMember(value),
        demand: 'must not be one of the refused values',
      };
    }
    case 'compare':
      return comparison(config.op, config.value);
    case 'type_is':
      return {
        passes: (value) => typeName(value) === config.expected,
        demand: `must be of type ${config.expected}`,
      };
    case 'string_length': {
      const { min = 0, max = Infinity } = config;
      return {
        passes: (value) => typeof value === 'string' && hasLength(value, min, max),
        demand: lengthDemand(min, max),
      };
    }
    default:
      return config satisfies never;
  }
}

const ORDERINGS = {
  gt: [(a: number | bigint, b: number | bigint) => a > b, 'greater than'],
  gte: [(a: number | bigint, b: number | bigint) => a >= b, 'at least'],
  lt: [(a: number | bigint, b: number | bigint) => a < b, 'less than'],
  lte: [(a: number | bigint, b: number | bigint) => a <= b, 'at most'],
} as const;

function comparison(op: keyof typeof ORDERINGS | 'eq' | 'ne', constant: JsonValue): ValueCheck {
  if (op === 'eq')
    return { passes: (value) => jsonEqual(value, constant), demand: 'must equal the given value' };
  if (op === 'ne') {
    return {
      passes: (value) => value !== undefined && !jsonEqual(value, constant),
      demand: 'must be there and differ from the given value',
    };
  }
  const limit = numberIn(constant);
  assert(limit !== undefined, 'the schema has checked that orderings compare with numbers');
  const [holds, words] = ORDERINGS[op];
  return {
    passes: (value) =>
      (typeof value === 'number' || typeof value === 'bigint') && holds(value, limit),
    demand: `must be a number ${words} ${limit}`,
  };
}

function typeName(value: Value): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'bigint' ? 'number' : typeof value;
}

function lengthDemand(min: number, max: number): string {
  if (max === Infinity) return `must be a text of at least ${min} characters`;
  return min === 0
    ? `must be a text of at most ${max} characters`
    : `must be a text of ${min} to ${max} characters`;
}

/**
 * Is the number of Unicode characters in the range? Counts only when the number of UTF-16 units
 * does not decide it.
 */
export function hasLength(text: string, min: number, max: number): boolean {
  const units = text.length;
  if (units < min || units > max * 2) return false;
  if (units <= max && units >= min * 2) return true;
  let characters = 0;
  // oxlint-disable-next-line no-unused-vars
  for (const _ of text) characters += 1;
  return characters >= min && characters <= max;
}

/**
 * The validator knows numbers only; larger integers stand in as doubles. The same value when there
 * are none.
 */
function withoutBigInts(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value))
    return value.some((item) => withoutBigInts(item) !== item) ? value.map(withoutBigInts) : value;
  if (!isObject(value)) return value;
  const keys = Object.keys(value);
  if (!keys.some((key) => withoutBigInts(value[key] as JsonValue) !== value[key])) return value;
  return Object.fromEntries(keys.map((key) => [key, withoutBigInts(value[key] as JsonValue)]));
}
