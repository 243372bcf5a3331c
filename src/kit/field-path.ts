import { plainJson } from '../lib/text/json-literal.ts';
import { hasField, isObject, type JsonValue } from '../lib/text/json.ts';

/**
 * The path grammar of filters, checks and explode: a bare key, or `$` followed by `.key`, `['key']`
 * or `["key"]` steps. No wildcards, no array indexes, no escapes.
 */
export type FieldPath = readonly string[];

const STEP = /\.([^.[\]'"\s]+)|\['([^']*)'\]|\["([^"]*)"\]/y;

/** The steps of a path, or a message that says what is wrong with it. */
export function parseFieldPath(text: string): FieldPath | { readonly error: string } {
  if (text === '') return { error: 'a path must not be empty' };
  if (!text.startsWith('$')) {
    if (/[*?]|\.\.|[[\]]/.test(text))
      return {
        error: `\`${text}\` is not a path: wildcards, filters and indexes are not supported here`,
      };
    return parseSteps(`.${text}`, text);
  }
  if (text === '$') return { error: '`$` names the whole record; name a field' };
  return parseSteps(text.slice(1), text);
}

function parseSteps(rest: string, whole: string): FieldPath | { readonly error: string } {
  const steps: string[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < rest.length) {
    const from = STEP.lastIndex;
    const match = STEP.exec(rest);
    if (match === null) {
      return {
        error: `\`${whole}\` is not valid from \`${rest.slice(from)}\` on; write steps as \`.key\` or \`['a key']\``,
      };
    }
    const step = match[1] ?? match[2] ?? match[3] ?? '';
    if (step === '' || step === '*') return { error: `\`${whole}\` has an empty or wildcard step` };
    steps.push(step);
  }
  return steps;
}

/**
 * Compiles a path to a reader. It goes through objects only and returns `undefined` when a step is
 * missing.
 */
export function readerOf(path: FieldPath): (record: JsonValue) => JsonValue | undefined {
  const [only] = path;
  if (path.length === 1 && only !== undefined) {
    return (record) =>
      isObject(record) && hasField(record, only) ? read(record[only]) : undefined;
  }
  return (record) => {
    let at: JsonValue | undefined = record;
    for (const step of path) {
      if (!isObject(at) || !hasField(at, step)) return undefined;
      at = at[step];
    }
    return read(at);
  };
}

/** A stage looks at values, not at how they were written. */
function read(value: JsonValue | undefined): JsonValue | undefined {
  return typeof value === 'object' ? plainJson(value) : value;
}
