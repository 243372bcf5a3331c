/** From the body of an answer to its records. */
import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { compilePath, compileRecords, isSingular, locate } from '../../_http/json-path.ts';

export type Extract = (body: JsonValue) => JsonValue[];

export interface Extraction {
  readonly records_path?: string | undefined;
  readonly records_multi?: readonly { readonly path: string; readonly op: string }[] | undefined;
  readonly op_field: string;
  readonly record_ancestors: readonly Ancestor[];
  readonly drop_key_prefixes: readonly string[];
}

interface Ancestor {
  readonly field: string;
  readonly up: number;
  readonly as?: string | undefined;
}

/**
 * Without a path the items of a list, or else the whole body, are records; with one, each match.
 */
export function compileExtraction(config: Extraction): Extract {
  const find = compileLists(config);
  const prefixes = config.drop_key_prefixes;
  return prefixes.length === 0
    ? find
    : (body) => find(body).map((record) => withoutPrefixed(record, prefixes));
}

function compileLists(config: Extraction): Extract {
  const {
    records_multi: lists,
    records_path: path,
    record_ancestors: ancestors,
    op_field: opField,
  } = config;
  if (lists !== undefined) {
    const readers = lists.map(({ path: one, op }) => ({ read: reader(one, ancestors), op }));
    return (body) =>
      readers.flatMap(({ read, op }) => read(body).map((record) => marked(record, opField, op)));
  }
  if (path !== undefined) return reader(path, ancestors);
  return (body) => (Array.isArray(body) ? body : [body]);
}

function marked(record: JsonValue, field: string, op: string): JsonValue {
  if (!isObject(record)) return record;
  const copy = { ...record };
  setField(copy, field, op);
  return copy;
}

function reader(path: string, ancestors: readonly Ancestor[]): Extract {
  const opens = isSingular(path);
  if (ancestors.length > 0) {
    const each = opens ? `${path}[*]` : path;
    return (body) => withAncestors(body, { path, each, opens }, ancestors);
  }
  return compileRecords(path);
}

function withAncestors(
  body: JsonValue,
  paths: { path: string; each: string; opens: boolean },
  ancestors: readonly Ancestor[],
): JsonValue[] {
  const isList = paths.opens && Array.isArray(compilePath(paths.path)(body)[0]);
  return locate(body, isList ? paths.each : paths.path).map(({ value, steps }) => {
    if (!isObject(value)) return value;
    const around = objectsAround(body, steps);
    const copy: JsonObject = { ...value };
    for (const { field, up, as } of ancestors) {
      const ancestor = around.at(-up);
      setField(
        copy,
        as ?? field,
        ancestor !== undefined && hasField(ancestor, field) ? (ancestor[field] ?? null) : null,
      );
    }
    return copy;
  });
}

/** The objects around the place that the steps lead to, outermost first. */
function objectsAround(body: JsonValue, steps: readonly (string | number)[]): JsonObject[] {
  const around: JsonObject[] = [];
  let at: JsonValue | undefined = body;
  for (const step of steps) {
    if (isObject(at)) {
      around.push(at);
      at = hasField(at, String(step)) ? at[String(step)] : undefined;
    } else {
      at = Array.isArray(at) ? at[Number(step)] : undefined;
    }
  }
  return around;
}

function withoutPrefixed(value: JsonValue, prefixes: readonly string[]): JsonValue {
  if (Array.isArray(value)) return value.map((item) => withoutPrefixed(item, prefixes));
  if (!isObject(value)) return value;
  const kept: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (!prefixes.some((prefix) => key.startsWith(prefix)))
      setField(kept, key, withoutPrefixed(item, prefixes));
  }
  return kept;
}
