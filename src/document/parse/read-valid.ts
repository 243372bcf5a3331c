import type { ZodType } from 'zod';
import { check, type Check } from '../../kit/schema.ts';
import type { Issue } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { isFull } from '../text/locate.ts';
import { stepsOf, type Steps } from './steps.ts';

/** Rounds of leaving faults out; the second round may bring up checks that the first fault hid. */
const ROUNDS = 3;

/** Leaving faults out copies the value once for each. */
const MAX_LEFT_OUT = 50;

/**
 * Reads a value by its schema. Where it does not fit, the faults are reported and then left out, so
 * that one mistake does not hide the next; `undefined` when nothing usable is left. What comes back
 * while issues were found serves only to look for more of them.
 */
export const readValid: ReadValid = (schema, value, path, issues) =>
  readValidParts(schema, value, { path, issues, checking: check });

export type ReadValid = <T>(
  schema: ZodType<T>,
  value: unknown,
  path: string,
  issues: Issue[],
) => T | undefined;

/** The same with another way to check. */
export function readValidWith(checking: Check): ReadValid {
  return (schema, value, path, issues) => readValidParts(schema, value, { path, issues, checking });
}

interface ReadSettings {
  readonly path: string;
  readonly issues: Issue[];
  readonly checking: Check;
}

function readValidParts<T>(
  schema: ZodType<T>,
  value: unknown,
  { path, issues, checking }: ReadSettings,
): T | undefined {
  if (isFull(issues)) return undefined;
  let rest = value;
  const reported = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const result = checking(schema, rest, path);
    if (result.ok) return result.value;
    issues.push(
      ...result.issues.filter(
        (issue) => !reported.has(issue.path) && !isConsequence(issue, reported),
      ),
    );
    if (result.issues.length > MAX_LEFT_OUT) return undefined;
    for (const issue of result.issues) reported.add(issue.path);
    const removed = result.issues.reduce(
      (kept: unknown, issue) => withoutFault(kept, stepsOf(issue.path.slice(path.length))),
      rest,
    );
    if (removed === rest) return undefined;
    rest = removed;
  }
  return undefined;
}

/** Whether something is missing only because what stood below was left out. */
function isConsequence({ code, path }: Issue, reported: ReadonlySet<string>): boolean {
  return (
    code === 'missing_key' &&
    [...reported].some((left) => left.startsWith(`${path}.`) || left.startsWith(`${path}[`))
  );
}

/**
 * A copy without what is at fault: the key at `steps`, or, where that is missing or an item of a
 * list, the nearest one above it.
 */
function withoutFault(value: unknown, steps: Steps): unknown {
  for (let length = steps.length; length > 0; length -= 1) {
    const rest = without(value, steps.slice(0, length));
    if (rest !== value) return rest;
  }
  return value;
}

/**
 * A copy without the mapping key at `steps`; the value itself when there is no such key, or it
 * stands in a list.
 */
function without(value: unknown, steps: Steps): unknown {
  const [step, ...below] = steps;
  if (step === undefined) return value;
  if (Array.isArray(value) && typeof step === 'number') {
    const item = without(value[step], below);
    return item === value[step] ? value : value.with(step, item);
  }
  if (!isObject(value) || !Object.hasOwn(value, String(step))) return value;
  if (below.length === 0)
    return Object.fromEntries(Object.entries(value).filter(([key]) => key !== step));
  const item = without(value[String(step)], below);
  return item === value[String(step)] ? value : { ...value, [step]: item as JsonValue };
}
