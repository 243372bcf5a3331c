/**
 * Makes the document of one unit of a backfill: tokens of its window are filled in, and delivery is
 * at least once.
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
 * The tree is as it was written (a submitted text, parsed), or as it was loaded, with escapes
 * marked.
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
 * The clock of a unit is its start in its own zone: a unit of 1 March is `2026-03-01` in every
 * zone.
 */
function nowValue(body: string, { startsAt, timezone }: Filling): string | undefined {
  const token = classify(body);
  if (token.kind !== 'now' || nowFault(token.name) !== undefined) return undefined;
  return renderNow(token.name, { date: startsAt, zone: timezone });
}

/**
 * A window is always read from its start. `verify` is removed: the destination also holds the
 * records of other windows, which a repair would delete.
 */
export function asUnit({ matrix, ...tree }: JsonObject): JsonObject {
  const settled: JsonObject = { ...tree, backfill: null, verify: null, delivery: 'at_least_once' };
  if (matrix === undefined) return settled;
  const rows = Array.isArray(matrix)
    ? matrix.map((row) => (isObject(row) ? { ...row, delivery: 'at_least_once' } : row))
    : matrix;
  return { ...settled, matrix: rows };
}
