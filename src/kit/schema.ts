/**
 * Helpers for config schemas, and the translation of their findings into our messages. No other
 * file shows the wording of the schema library.
 */
import { z, type ZodType } from 'zod';
import type { Issue } from '../lib/errors.ts';
import { isObject, type JsonValue } from '../lib/text/json.ts';
import { suggestion } from '../lib/text/nearest.ts';
import { joinPath } from '../lib/text/text-path.ts';
import { describeValue } from './described-value.ts';
import { alternatives, jsonSchemaOf, shapesAt, type JsonSchema } from './json-schema.ts';

/** The only metadata keys a field may carry. */
export interface FieldMeta {
  readonly description: string;
  readonly examples?: readonly unknown[];
  /** Never printed, masked in stored copies. */
  readonly secret?: boolean;
  readonly advanced?: boolean;
  readonly deprecated?: boolean;
  readonly since?: string;
}

/**
 * A whole number. Its text form is accepted too, because `${…}` tokens are filled in before the
 * config is checked.
 */
export function integer(options: { min?: number; max?: number } = {}) {
  return z.preprocess(
    fromText,
    z
      .int()
      .min(options.min ?? Number.MIN_SAFE_INTEGER)
      .max(options.max ?? Number.MAX_SAFE_INTEGER),
  );
}

/** A number, or its text form. */
export function number(options: { min?: number; max?: number } = {}) {
  return z.preprocess(
    fromText,
    z
      .number()
      .min(options.min ?? -Number.MAX_VALUE)
      .max(options.max ?? Number.MAX_VALUE),
  );
}

/** A boolean, or `"true"` / `"false"`. */
export function boolean() {
  return z.preprocess(
    (value) => (value === 'true' ? true : value === 'false' ? false : value),
    z.boolean(),
  );
}

/** Text that is not empty. */
export function text() {
  return z.string().min(1);
}

/** An optional field for which an explicit `null` means the same as absence. */
export function optional<T extends ZodType>(schema: T) {
  return z.preprocess((value) => (value === null ? undefined : value), schema.optional());
}

/** A field with a default, for which an explicit `null` means the same as absence. */
export function nullAsAbsent<T extends ZodType>(schema: T) {
  return z.preprocess((value) => (value === null ? undefined : value), schema);
}

/** Any JSON value. */
export function json() {
  return z.custom<JsonValue>((value) => value !== undefined);
}

/** Page sizes: 1 to 1,000,000; 0 means one single page. */
export function batchSize(fallback = 1000) {
  return integer({ min: 0, max: 1_000_000 })
    .default(fallback)
    .meta({ description: 'Records a page holds at most; 0 means one single page.' });
}

/** A check of our own inside a schema: `ctx.addIssue(finding(…))`. */
export function finding(
  code: string,
  message: string,
  options: { path?: (string | number)[]; hint?: string } = {},
) {
  return {
    code: 'custom' as const,
    message,
    path: options.path ?? [],
    params: { code, hint: options.hint },
  };
}

function fromText(value: unknown): unknown {
  return typeof value === 'string' && /^\s*-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(value)
    ? Number(value)
    : value;
}

/** The largest number of findings reported; one more finding says that others were left out. */
export const MAX_ISSUES = 1000;

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/**
 * Checks and parses a plain value. Findings have paths below `base`; there are at most `MAX_ISSUES`
 * and one more. A `null` that is not allowed counts as absent.
 */
export function check<T>(schema: ZodType<T>, given: unknown, base = ''): Checked<T> {
  const first = schema.safeParse(given);
  if (first.success) return { ok: true, value: first.data };
  const value = withoutNulls(given, first.error.issues, () => jsonSchemaOf(schema));
  const result = value === given ? first : schema.safeParse(value);
  if (result.success) return { ok: true, value: result.data };
  const shape = jsonSchemaOf(schema);
  return {
    ok: false,
    issues: translateAll(result.error.issues, { value, base, shape, above: [] }),
  };
}

export type Check = typeof check;

/**
 * The value without the keys whose `null` was refused; the value itself when there are none. Where
 * `null` is one of the words that a field takes, the author left its quotes out: YAML reads
 * `on_error: null` as a value. An entry of a map has no default that could stand for it.
 */
function withoutNulls(value: unknown, issues: readonly RawIssue[], shape: () => JsonSchema) {
  // A `null` that our own check refuses is not treated as absent.
  const refused = issues
    .filter(({ code, path }) => code !== 'custom' && path.length > 0)
    .map(({ path, values = [] }) => ({
      path: path.map((step) => (typeof step === 'number' ? step : String(step))),
      isWord: values.includes('null'),
    }))
    .filter(({ path }) => valueAt(value, path) === null && !isMapEntry(shape(), path));
  if (refused.length === 0) return value;
  const copy = structuredClone(value);
  for (const { path, isWord } of refused) {
    const parent = valueAt(copy, path.slice(0, -1));
    if (!isObject(parent)) continue;
    if (isWord) parent[String(path.at(-1))] = 'null';
    else delete parent[String(path.at(-1))];
  }
  return copy;
}

/** Whether the place is an entry that the author named, and that must hold a text or listed word. */
function isMapEntry(shape: JsonSchema, path: readonly (string | number)[]): boolean {
  const key = String(path.at(-1));
  return shapesAt(shape, path.slice(0, -1))
    .flatMap(alternatives)
    .some(
      ({ properties, additionalProperties: entry }) =>
        properties?.[key] === undefined &&
        typeof entry === 'object' &&
        (entry['enum'] !== undefined || entry['minLength'] !== undefined),
    );
}

interface RawIssue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
  readonly expected?: string;
  readonly values?: readonly unknown[];
  readonly options?: readonly unknown[];
  readonly errors?: readonly (readonly RawIssue[])[];
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly inclusive?: boolean;
  readonly origin?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly params?: { readonly code?: string; readonly hint?: string };
  /** Of a key that a record refuses. */
  readonly issues?: readonly RawIssue[];
}

interface Place {
  readonly value: unknown;
  readonly base: string;
  readonly shape: JsonSchema;
  readonly above: readonly (string | number)[];
}

function translateAll(raw: readonly RawIssue[], place: Place): Issue[] {
  const issues: Issue[] = [];
  for (const issue of raw) {
    if (issues.length > MAX_ISSUES) break;
    issues.push(...translate(issue, place));
  }
  return issues.slice(0, MAX_ISSUES + 1);
}

function translate(issue: RawIssue, place: Place): Issue[] {
  const steps = [
    ...place.above,
    ...issue.path.map((step) => (typeof step === 'number' ? step : String(step))),
  ];
  const here = { path: joinPath(place.base, ...steps) };
  const found = valueAt(place.value, steps);
  const described = (): string => describeValue(found, { shape: place.shape, steps });
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownKeys(issue.keys ?? [], steps, place);
    case 'invalid_type':
    case 'custom':
      if (issue.code === 'custom' && issue.params?.code !== undefined) {
        return [
          withHint({ code: issue.params.code, message: issue.message, ...here }, issue.params.hint),
        ];
      }
      if (found === undefined)
        return [
          { code: 'missing_key', message: `\`${steps.at(-1) ?? 'value'}\` is required`, ...here },
        ];
      return [
        {
          code: 'wrong_type',
          message: `expected ${typeName(issue.expected)}, got ${described()}`,
          ...here,
        },
      ];
    case 'invalid_value':
      return [notOneOf(issue.values ?? [], steps, place)];
    case 'invalid_union':
      return translateUnion(issue, steps, place);
    case 'too_small':
    case 'too_big':
      return [{ code: 'out_of_range', message: rangeText(issue, { found, described }), ...here }];
    case 'invalid_format':
      return [{ code: 'invalid_value', ...formText(issue, described()), ...here }];
    case 'invalid_key': {
      const [first] = issue.issues ?? [];
      const name = `\`${steps.at(-1)}\``;
      return [
        first?.code === 'invalid_format'
          ? { code: 'invalid_value', ...formText(first, name), ...here }
          : {
              code: 'invalid_value',
              message: `${name} is not a name that is allowed here`,
              ...here,
            },
      ];
    }
    default:
      return [{ code: 'invalid_value', message: `${described()} is not allowed here`, ...here }];
  }
}

/** Schemas may say what a text is not: `is not the name of a bucket`. */
function formText(issue: RawIssue, found: string): Pick<Issue, 'message' | 'hint'> {
  const { message, pattern, format } = issue;
  if (message.startsWith(LIBRARY_SAYS))
    return {
      message: `${found} is not ${pattern === undefined ? `a valid ${format}` : `of the form ${pattern}`}`,
    };
  const said = { message: `${found} ${message}` };
  return pattern === undefined ? said : { ...said, hint: `it must have the form ${pattern}` };
}

/** How the library begins a message that a schema does not replace. */
const LIBRARY_SAYS = 'Invalid ';

function withHint(issue: Issue, hint: string | undefined): Issue {
  return hint === undefined ? issue : { ...issue, hint };
}

function unknownKeys(
  keys: readonly string[],
  steps: readonly (string | number)[],
  place: Place,
): Issue[] {
  const known = knownKeys(place.shape, steps, valueAt(place.value, steps));
  return keys.slice(0, MAX_ISSUES + 1).map((key) => {
    const issue = {
      code: 'unknown_key',
      message: `unknown key \`${key}\``,
      path: joinPath(place.base, ...steps, key),
    };
    return withHint(issue, suggestion(key, known, 'known keys'));
  });
}

function notOneOf(
  values: readonly unknown[],
  steps: readonly (string | number)[],
  place: Place,
): Issue {
  const found = valueAt(place.value, steps);
  const path = joinPath(place.base, ...steps);
  const names = values.map((value) => String(value));
  if (found === undefined) {
    return {
      code: 'missing_key',
      message: `\`${steps.at(-1) ?? 'value'}\` is required`,
      path,
      hint: `one of: ${names.join(', ')}`,
    };
  }
  const issue = {
    code: 'invalid_value',
    message: `${describeValue(found, { shape: place.shape, steps })} is not one of ${names.map((name) => `\`${name}\``).join(', ')}`,
    path,
  };
  const near = typeof found === 'string' ? suggestion(found, names) : undefined;
  return withHint(issue, near?.startsWith('did you mean') === true ? near : undefined);
}

/** Reports the alternative that matches best, because the author most likely meant that one. */
function translateUnion(issue: RawIssue, steps: (string | number)[], place: Place): Issue[] {
  const branches = issue.errors ?? [];
  if (branches.length === 0) return [notOneOf(issue.options ?? [], steps, place)];
  const found = valueAt(place.value, steps);
  const inner = { ...place, above: steps };
  const expected: string[] = [];
  const close: RawIssue[][] = [];
  for (const branch of branches) {
    const blunt = branch.find(
      (one) =>
        one.path.length === 0 && (one.code === 'invalid_type' || one.code === 'invalid_value'),
    );
    if (blunt === undefined) close.push([...branch]);
    else
      expected.push(
        blunt.code === 'invalid_value'
          ? (blunt.values ?? []).map((value) => `\`${String(value)}\``).join(' or ')
          : typeName(blunt.expected),
      );
  }
  if (close.length === 0) {
    const path = joinPath(place.base, ...steps);
    if (found === undefined)
      return [{ code: 'missing_key', message: `\`${steps.at(-1) ?? 'value'}\` is required`, path }];
    return [
      {
        code: 'wrong_type',
        message: `expected ${[...new Set(expected)].join(' or ')}, got ${describeValue(found, { shape: place.shape, steps })}`,
        path,
      },
    ];
  }
  close.sort((a, b) => a.length - b.length);
  return translateAll(close[0] ?? [], inner);
}

function rangeText(
  issue: RawIssue,
  { found, described }: { readonly found: unknown; readonly described: () => string },
): string {
  const limit = issue.code === 'too_small' ? issue.minimum : issue.maximum;
  const atLeast = issue.code === 'too_small';
  if (issue.origin === 'string')
    return found === ''
      ? 'must not be empty'
      : `must have ${atLeast ? 'at least' : 'at most'} ${limit} characters`;
  if (issue.origin === 'array' || issue.origin === 'set')
    return limit === 1 && atLeast
      ? 'must not be empty'
      : `must have ${atLeast ? 'at least' : 'at most'} ${limit} entries`;
  const word = atLeast
    ? issue.inclusive === false
      ? 'greater than'
      : 'at least'
    : issue.inclusive === false
      ? 'less than'
      : 'at most';
  return `must be ${word} ${limit}, got ${described()}`;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
  null: 'null',
};

function typeName(expected: string | undefined): string {
  return TYPE_NAMES[expected ?? ''] ?? expected ?? 'something else';
}

function valueAt(value: unknown, steps: readonly (string | number)[]): unknown {
  let at: unknown = value;
  for (const step of steps) {
    if (Array.isArray(at) && typeof step === 'number') at = at[step];
    else if (isObject(at)) at = Object.hasOwn(at, String(step)) ? at[String(step)] : undefined;
    else return undefined;
  }
  return at;
}

/**
 * The known keys of a mapping; where there are several kinds of mapping, those of the kind that was
 * found.
 */
function knownKeys(
  shape: JsonSchema,
  steps: readonly (string | number)[],
  found: unknown,
): string[] {
  const kinds = shapesAt(shape, steps)
    .flatMap(alternatives)
    .filter((one) => isOfKind(one, found));
  return [...new Set(kinds.flatMap((one) => Object.keys(one.properties ?? {})))];
}

/** Whether the value has every fixed value of the shape (`kind: tee`) or leaves it out. */
function isOfKind({ properties = {} }: JsonSchema, found: unknown): boolean {
  return (
    !isObject(found) ||
    Object.entries(properties).every(
      ([key, { const: fixed }]) => fixed === undefined || found[key] === fixed,
    )
  );
}
