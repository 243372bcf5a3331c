/** A tree with the locations of its nodes, also when it was composed of several files. */
import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { Locate } from '../text/locate.ts';
import { mergeTrees } from './merge.ts';
import { stepsOf, type Steps } from '../parse/steps.ts';

/** A part of a document, with the places of its own paths. */
export interface Part<T extends JsonValue = JsonValue> {
  readonly value: T;
  readonly locate: Locate;
}

export type Layer = Part<JsonObject>;

/**
 * The upper tree over the lower one. A node stands in the file that it was taken from; one that
 * both have, in the upper file.
 */
export function mergeLayers(lower: Layer, upper: Layer): Layer {
  return {
    value: mergeTrees(lower.value, upper.value),
    locate: (path) =>
      (isOfLower(lower.value, upper.value, stepsOf(path)) ? lower : upper).locate(path),
  };
}

function isOfLower(lower: JsonValue, upper: JsonValue, steps: Steps): boolean {
  const [step, ...below] = steps;
  if (step === undefined || !isObject(lower) || !isObject(upper)) return false;
  const key = String(step);
  if (!hasField(lower, key)) return false;
  return !hasField(upper, key) || isOfLower(lower[key] ?? null, upper[key] ?? null, below);
}

/** The mapping at a key, seen as a layer of its own. */
export function layerAt(layer: Layer, steps: Steps, value: JsonObject): Layer {
  const base = joinPath('', ...steps);
  return {
    value,
    locate: (path) =>
      layer.locate(path === '' || path.startsWith('[') ? base + path : `${base}.${path}`),
  };
}

export interface Graft {
  readonly steps: Steps;
  readonly content: Part;
}

/**
 * Puts contents of files into their places. What stands below a place is in that file; the place
 * itself stays where it is.
 */
export function graft(part: Part, grafts: readonly Graft[]): Part {
  if (grafts.length === 0) return part;
  const byPlace = new Map(grafts.map((one) => [joinPath('', ...one.steps), one.content]));
  return {
    value: grafts.reduce(
      (value, { steps, content }) => replaceAt(value, steps, content.value),
      part.value,
    ),
    locate: (path) => {
      const steps = stepsOf(path);
      for (let length = 0; length < steps.length; length += 1) {
        const content = byPlace.get(joinPath('', ...steps.slice(0, length)));
        if (content !== undefined) return content.locate(joinPath('', ...steps.slice(length)));
      }
      return part.locate(path);
    },
  };
}

/** Changes the value in place: it is the copy that parsing made. */
function replaceAt(root: JsonValue, steps: Steps, value: JsonValue): JsonValue {
  const last = steps.at(-1);
  if (last === undefined) return value;
  let above: JsonValue | undefined = root;
  for (const step of steps.slice(0, -1))
    above = Array.isArray(above) ? above[Number(step)] : isObject(above) ? above[step] : undefined;
  if (Array.isArray(above)) above[Number(last)] = value;
  else if (isObject(above)) setField(above, String(last), value);
  return root;
}

/** Levels of mappings and lists. */
export function heightOf(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  let height = 0;
  for (const item of Object.values(value)) height = Math.max(height, heightOf(item));
  return height + 1;
}
