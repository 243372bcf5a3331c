/** When two values are the same: each becomes a text, and equal texts mean equal values. */
import type { NormalizeSpec } from '../../blocks/verify/schema.ts';
import type { ColumnHolds } from '../../kit/source.ts';
import { storedValue } from '../../lib/sql/sqlite-values.ts';
import { isLiteral, plainJson } from '../../lib/text/json-literal.ts';
import { parseJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { instantText } from './instant-text.ts';
import { plainDecimal } from './plain-decimal.ts';

/** What the columns of both sides hold: a difference that one of them cannot even store is none. */
export type Holding = ReadonlySet<ColumnHolds>;

/** `undefined` for null: a field without a value is the same as no field. */
export type Form = string | undefined;

export type FormOf = (value: JsonValue | undefined, holding: Holding) => Form;

const NOTHING_KNOWN: Holding = new Set();

export function createForms(spec: NormalizeSpec): FormOf {
  const { float_tolerance: tolerance, timestamps, numeric_strings: numeric } = spec;

  const number = (value: number | bigint): string => {
    if (typeof value === 'bigint') return value.toString();
    const steps = tolerance === 0 ? Number.NaN : Math.round(value / tolerance);
    if (Number.isSafeInteger(steps)) return `~${steps + 0}`;
    if (Number.isSafeInteger(value)) return String(value + 0);
    return Number.isInteger(value)
      ? BigInt(value).toString()
      : (plainDecimal(String(value)) ?? String(value));
  };

  const decimal = (text: string): string | undefined => {
    const plain = plainDecimal(text);
    return plain === undefined || tolerance === 0 ? plain : number(Number(plain));
  };

  const text = (value: string, holding: Holding): Form => {
    if (value === '' && holding.has('cells')) return undefined;
    const spelled = numeric || holding.has('numbers') ? decimal(value) : undefined;
    if (spelled !== undefined) return holdsOnlyTexts(holding) ? quoted(spelled) : spelled;
    const parsed = spells(value, holding) ? jsonOf(value) : undefined;
    if (parsed !== undefined && typeof parsed !== 'string') return form(parsed, holding);
    const stored = asStored(value, holding);
    if (typeof stored === 'boolean') return boolean(stored, holding);
    if (stored !== undefined) return quoted(stored);
    const instant = timestamps ? instantText(value) : undefined;
    return instant === undefined ? quoted(value) : `@${instant}`;
  };

  const form: FormOf = (value, holding) => {
    if (value === undefined || value === null) return undefined;
    if (isLiteral(value)) return form(plainJson(value), holding);
    if (typeof value === 'string') return text(value, holding);
    if (typeof value === 'boolean') return boolean(value, holding);
    if (typeof value === 'number' || typeof value === 'bigint') {
      if (holding.has('booleans') && (value == 0 || value == 1))
        return boolean(value == 1, holding);
      const written = number(value);
      return holdsOnlyTexts(holding) ? quoted(written) : written;
    }
    if (Array.isArray(value))
      return `[${value.map((item) => form(item, NOTHING_KNOWN) ?? 'null').join()}]`;
    return object(value, (item) => form(item, NOTHING_KNOWN));
  };
  return form;
}

/** In the order of their names, so that theirs does not matter. */
function object(value: JsonObject, form: (value: JsonValue | undefined) => Form): string {
  const fields = Object.keys(value)
    .sort()
    .flatMap((name) => {
      const written = form(value[name]);
      return written === undefined ? [] : [`${quoted(name)}:${written}`];
    });
  return `{${fields.join()}}`;
}

function boolean(value: boolean, holding: Holding): string {
  if (holding.has('numbers')) return value ? '1' : '0';
  return holdsOnlyTexts(holding) ? quoted(String(value)) : String(value);
}

function holdsOnlyTexts(holding: Holding): boolean {
  return TEXTS.some((texts) => holding.has(texts)) && !holding.has('numbers');
}

const TEXTS = ['texts', 'cells', 'padded', 'uuids'] as const;

function spells(value: string, holding: Holding): boolean {
  return (
    holding.has('json') ||
    ((holding.has('documents') || holdsOnlyTexts(holding)) && /^\s*[[{]/.test(value))
  );
}

const UUID = /^\{?[0-9a-f]{4}(?:-?[0-9a-f]{4}){7}\}?$/i;
const TRUE = /^\s*(?:t(?:r(?:ue?)?)?|y(?:es?)?|on|1)\s*$/i;
const FALSE = /^\s*(?:f(?:a(?:l(?:se?)?)?)?|no?|of?f|0)\s*$/i;

/** What a column with a spelling of its own makes of a text; `undefined` when it keeps it. */
function asStored(text: string, holding: Holding): string | boolean | undefined {
  if (holding.has('uuids') && UUID.test(text))
    return text.toLowerCase().replaceAll(/[^0-9a-f]/g, '');
  if (holding.has('booleans') && TRUE.test(text)) return true;
  if (holding.has('booleans') && FALSE.test(text)) return false;
  return holding.has('padded') ? text.replace(/ +$/, '') : undefined;
}

function jsonOf(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Keys meet by their text, as sinks compare them: `1` and `"1"` are one key. */
function ofKey(holding: Holding): Holding {
  return holding.has('numbers') ? holding : new Set<ColumnHolds>([...holding, 'texts']);
}

/** A value with its storage class: the text `1.10` is not the number 1.1. */
function storedForm(record: JsonObject, name: string, form: FormOf): Form {
  const stored = storedValue(record, name);
  switch (typeof stored) {
    case 'string':
      return `text ${form(stored, NOTHING_KNOWN)}`;
    case 'bigint':
      return `integer ${stored}`;
    case 'number':
      return `real ${form(stored, NOTHING_KNOWN)}`;
    default:
      return stored instanceof Uint8Array
        ? `blob ${Buffer.from(stored).toString('hex')}`
        : undefined;
  }
}

export interface RecordForms {
  /** Equal for records with the same key. */
  key(record: JsonObject): string;
  /** Everything that counts, as one text. */
  text(record: JsonObject): string;
  /** Names of the columns in which two records differ. */
  differing(one: JsonObject, other: JsonObject): string[];
  /** The key as it appears in the report. */
  named(record: JsonObject): JsonObject;
}

export interface FormsOptions {
  readonly key: readonly string[];
  /** Which fields count. */
  readonly counts: (name: string) => boolean;
  readonly holding: (name: string) => Holding;
  readonly normalize: NormalizeSpec;
  /** Whether both sides store values of the column with types of their own, and alike. */
  readonly isStored?: ((name: string) => boolean) | undefined;
}

export function recordForms({
  key,
  counts,
  holding,
  normalize,
  isStored = () => false,
}: FormsOptions): RecordForms {
  const form = createForms(normalize);
  const keyForm = createForms({ ...normalize, float_tolerance: 0 });
  const holdings = new Map<string, Holding>();
  const holdingOf = (name: string): Holding => {
    let known = holdings.get(name);
    if (known === undefined) holdings.set(name, (known = holding(name)));
    return known;
  };
  const keys = key.map((name) => ({ name, holding: ofKey(holding(name)) }));
  const counted = new Map<string, boolean>();
  const countsOf = (name: string): boolean => {
    let known = counted.get(name);
    if (known === undefined) counted.set(name, (known = !key.includes(name) && counts(name)));
    return known;
  };
  const formOf = (record: JsonObject, name: string): Form =>
    (isStored(name) ? storedForm(record, name, form) : undefined) ??
    form(record[name], holdingOf(name));
  const keyOf = (record: JsonObject, name: string, known: Holding): Form =>
    (isStored(name) ? storedForm(record, name, keyForm) : undefined) ??
    keyForm(record[name], known);
  return {
    key: (record) => keys.map((one) => keyOf(record, one.name, one.holding) ?? 'null').join(),
    text(record) {
      let text = '';
      for (const name of Object.keys(record).sort()) {
        const written = countsOf(name) ? formOf(record, name) : undefined;
        if (written !== undefined) text += `${quoted(name)}:${written},`;
      }
      return text;
    },
    differing: (one, other) =>
      [...new Set([...Object.keys(one), ...Object.keys(other)])]
        .filter((name) => countsOf(name) && formOf(one, name) !== formOf(other, name))
        .sort(),
    named: (record) => Object.fromEntries(key.map((name) => [name, record[name] ?? null])),
  };
}
