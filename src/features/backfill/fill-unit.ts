/**
 * A document as one unit of a backfill runs it: its window stands in the text, and what it delivers
 * twice is no fault.
 */
import { nowFault, renderNow } from '../../document/tokens/now-tokens.ts';
import {
  classify,
  escapesAsWritten,
  rewriteTokens,
  wholeToken,
} from '../../document/tokens/tokens.ts';
import {
  isObject,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import type { BackfillUnit } from './units.ts';

interface Filling extends Pick<BackfillUnit, 'tokens' | 'startsAt'> {
  readonly timezone: string;
}

/**
 * Of a tree as it was written (a submitted text, parsed), or as it was loaded: what is escaped in
 * it is marked then.
 */
export function fillUnit(tree: JsonObject, unit: Filling, form: 'written' | 'loaded'): JsonObject {
  return asUnit(filled(tree, unit, form) as JsonObject);
}

function filled(value: JsonValue, unit: Filling, form: 'written' | 'loaded'): JsonValue {
  if (typeof value === 'string') return filledText(value, unit, form);
  if (Array.isArray(value)) return value.map((item) => filled(item, unit, form));
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value))
    setField(copy, rewritten(key, unit, form), filled(item, unit, form));
  return copy;
}

/** A token that is the whole text keeps its type. */
function filledText(text: string, unit: Filling, form: 'written' | 'loaded'): JsonValue {
  const whole = wholeToken(text);
  return (whole === undefined ? undefined : unitValue(whole, unit)) ?? rewritten(text, unit, form);
}

function rewritten(text: string, unit: Filling, form: 'written' | 'loaded'): string {
  if (!text.includes('${')) return text;
  const replace = (body: string): string => {
    const value = unitValue(body, unit) ?? nowValue(body, unit);
    return value === undefined ? `\${${body}}` : jsonText(value);
  };
  const filledIn = rewriteTokens(text, { replace, tooDeep: () => undefined });
  return form === 'written' ? escapesAsWritten(filledIn) : filledIn;
}

function unitValue(body: string, { tokens }: Filling): JsonValue | undefined {
  const token = classify(body);
  return token.kind === 'path' && token.root === 'backfill' && Object.hasOwn(tokens, token.path)
    ? tokens[token.path]
    : undefined;
}

/**
 * The clock of a unit is its start, as the clocks of its zone show it: a unit of 1 March is
 * `2026-03-01` everywhere.
 */
function nowValue(body: string, { startsAt, timezone }: Filling): string | undefined {
  const token = classify(body);
  if (token.kind !== 'now' || nowFault(token.name) !== undefined) return undefined;
  return renderNow(token.name, { date: startsAt, zone: timezone });
}

/**
 * A window is read from its start whenever it is run again; the document of a unit is no longer one
 * of many windows. Nor is the destination compared with its source: all that other windows wrote
 * would be too much there, and a repair would delete it.
 */
export function asUnit({ matrix, ...tree }: JsonObject): JsonObject {
  const settled: JsonObject = { ...tree, backfill: null, verify: null, delivery: 'at_least_once' };
  if (matrix === undefined) return settled;
  const rows = Array.isArray(matrix)
    ? matrix.map((row) => (isObject(row) ? { ...row, delivery: 'at_least_once' } : row))
    : matrix;
  return { ...settled, matrix: rows };
}
