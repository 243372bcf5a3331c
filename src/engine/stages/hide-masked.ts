/** Keeps what masking hides out of records that masking has not seen yet. */
import { isObject, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export type HideRecord = (record: JsonValue) => JsonValue;

const HIDDEN = '***';
/** Shorter texts occur inside others by accident. */
const SHORTEST_PART = 3;

/**
 * The values that masking changes in `samples`, hidden wherever they occur, also inside other
 * texts.
 */
export function hideValues(
  mask: HideRecord,
  samples: readonly JsonValue[],
): { readonly record: HideRecord; text(this: void, text: string): string } {
  const values = new Set<string>();
  for (const sample of samples) collect(sample, mask(sample), values);
  const parts = [...values]
    .filter((value) => value.length >= SHORTEST_PART)
    .sort((a, b) => b.length - a.length);
  const text = (written: string): string =>
    parts.reduce((out, part) => out.replaceAll(part, HIDDEN), written);
  const record = (value: JsonValue): JsonValue =>
    mapScalars(value, (scalar) =>
      values.has(String(scalar)) ? HIDDEN : typeof scalar === 'string' ? text(scalar) : scalar,
    );
  return { record, text };
}

/** Masks a record as if its top-level fields were called what later stages call them. */
export function maskRenamed(mask: HideRecord, names: ReadonlyMap<string, string>): HideRecord {
  if (names.size === 0) return mask;
  return (record) => {
    if (!isObject(record)) return mask(record);
    const renamed: JsonObject = {};
    for (const [name, value] of Object.entries(record))
      setField(renamed, names.get(name) ?? name, value);
    const masked = mask(renamed);
    if (!isObject(masked)) return masked;
    const back: JsonObject = {};
    for (const name of Object.keys(record))
      setField(back, name, masked[names.get(name) ?? name] ?? null);
    return back;
  };
}

/** For records where it is unknown what masking would have hidden. */
export const hideAll: HideRecord = (record) => mapScalars(record, () => HIDDEN);

function mapScalars(
  value: JsonValue,
  map: (scalar: string | number | bigint) => JsonValue,
): JsonValue {
  if (Array.isArray(value)) return value.map((item) => mapScalars(item, map));
  if (isObject(value)) {
    const copy: JsonObject = {};
    for (const [name, item] of Object.entries(value)) setField(copy, name, mapScalars(item, map));
    return copy;
  }
  return typeof value === 'boolean' || value === null ? value : map(value);
}

/** The plain values of `raw` that are missing in `masked`. */
function collect(raw: JsonValue, masked: JsonValue, into: Set<string>): void {
  if (raw === masked) return;
  if (Array.isArray(raw)) {
    raw.forEach((item, index) =>
      collect(item, Array.isArray(masked) ? (masked[index] ?? null) : null, into),
    );
  } else if (isObject(raw)) {
    for (const [name, item] of Object.entries(raw))
      collect(item, isObject(masked) ? (masked[name] ?? null) : null, into);
  } else if (typeof raw !== 'boolean' && raw !== null && raw !== '') {
    into.add(String(raw));
  }
}
