import type { JsonValue as LibraryValue } from 'jsonpath-rfc9535';
import { z } from 'zod';
import { finding, text } from '../../kit/schema.ts';
import { hasField, isObject, type JsonValue } from '../../lib/text/json.ts';
import { lazyLibrary } from '../../lib/lazy.ts';

const library = lazyLibrary<typeof import('jsonpath-rfc9535')>('jsonpath-rfc9535');

/** All values that a path matches, in document order. */
export type PathReader = (value: JsonValue) => JsonValue[];

/** A field that holds a JSONPath (RFC 9535); a path without `$` also starts at the root. */
export function jsonPath() {
  return text()
    .transform(rooted)
    .pipe(
      z.string().superRefine((path, ctx) => {
        if (!isJsonPath(path)) ctx.addIssue(notAPath(path));
      }),
    );
}

export function isJsonPath(path: string): boolean {
  try {
    library().query(null, path);
    return true;
  } catch {
    return false;
  }
}

/** The finding for a text that is not a JSONPath; `at` is its place below the checked value. */
export function notAPath(path: string, at: (string | number)[] = []) {
  return finding('invalid_value', `\`${path}\` is not a JSONPath`, {
    path: at,
    hint: 'e.g. `$.data.items[*]`',
  });
}

function rooted(path: string): string {
  if (path.startsWith('$')) return path;
  return path.startsWith('[') ? `$${path}` : `$.${path}`;
}

const STEP =
  /\.([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)|\['([^'\\]*)'\]|\["([^"\\]*)"\]|(\.\*|\[\*\])/y;
const EACH = Symbol('each');

/** Paths that have only names and `[*]`, which most have, are evaluated without the interpreter. */
export function compilePath(path: string): PathReader {
  const steps = simpleSteps(path);
  if (steps === undefined) return (value) => library().query(value as LibraryValue, path);
  return (value) => {
    let found = [value];
    for (const step of steps)
      found = step === EACH ? found.flatMap(children) : members(found, step);
    return found;
  };
}

function simpleSteps(path: string): (string | typeof EACH)[] | undefined {
  const steps: (string | typeof EACH)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const match = STEP.exec(path);
    if (match === null) return undefined;
    steps.push(match[4] === undefined ? (match[1] ?? match[2] ?? match[3] ?? '') : EACH);
  }
  return steps;
}

function children(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value) : [];
}

function members(values: readonly JsonValue[], name: string): JsonValue[] {
  const found: JsonValue[] = [];
  for (const value of values)
    if (isObject(value) && hasField(value, name)) found.push(value[name] ?? null);
  return found;
}

/** Whether the path can match at most one value. */
export function isSingular(path: string): boolean {
  const steps = simpleSteps(path);
  return steps === undefined
    ? /^\$(\.[\w\u0080-\uffff]+|\[(-?\d+|'[^']*'|"[^"]*")\])*$/.test(path)
    : !steps.includes(EACH);
}

/** The records at a path: each match, or the items of the list that a path of one value leads to. */
export function compileRecords(path: string): PathReader {
  const read = compilePath(path);
  const opens = isSingular(path);
  return (value) => {
    const found = read(value);
    const [only] = found;
    return opens && Array.isArray(only) ? only : found;
  };
}

/**
 * Whether a body has what the path looks into for records, however many there are. A path that is
 * not of names and `[*]` says nothing of that: then it is taken to be there.
 */
export function compilePlace(path: string): (value: JsonValue) => boolean {
  const steps = simpleSteps(path);
  if (steps === undefined) return () => true;
  const names = steps.slice(0, steps.indexOf(EACH) === -1 ? undefined : steps.indexOf(EACH));
  return (value) => {
    let found = [value];
    for (const name of names) found = members(found, name as string);
    return found.some((one) => one !== null);
  };
}

/** A match with the steps of its path. */
export interface LocatedMatch {
  readonly value: JsonValue;
  readonly steps: readonly (string | number)[];
}

export function locate(value: JsonValue, path: string): LocatedMatch[] {
  const found: LocatedMatch[] = [];
  library().exec(value as LibraryValue, path, (match, steps) =>
    found.push({ value: match, steps: steps.map(plainStep) }),
  );
  return found;
}

/** Removes the escapes of a normalised path (RFC 9535, 2.7) from a key. */
function plainStep(step: string | number): string | number {
  if (typeof step === 'number') return step;
  return JSON.parse(
    `"${step.replaceAll(String.raw`\'`, "'").replaceAll('"', String.raw`\"`)}"`,
  ) as string;
}
