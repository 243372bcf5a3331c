/** Whether a streamed or loaded row fits its table, in the words of the vendor. */
import type { Field } from './types.ts';

export interface RowFault {
  readonly reason: string;
  readonly location: string;
  readonly message: string;
}

const FORMS: Readonly<Record<string, RegExp>> = {
  INT64: /^-?\d+$/,
  FLOAT64: /^-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$|^NaN$|^-?Infinity$/,
  BOOL: /^(?:true|false)$/i,
  NUMERIC: /^-?\d{1,29}(?:\.\d{1,9})?$/,
  BIGNUMERIC: /^-?\d{1,39}(?:\.\d{1,38})?$/,
  DATE: /^\d{4}-\d{2}-\d{2}$/,
  TIME: /^\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?$/,
  DATETIME: /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?$/,
  TIMESTAMP: /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:Z|[+-]\d{2}(?::?\d{2})?)?$/,
  BYTES: /^[A-Za-z0-9+/]*={0,2}$/,
  INTERVAL: /^-?\d+-\d+ -?\d+ -?\d+:\d+:\d+(?:\.\d+)?$/,
};

export function faultsOf(
  fields: readonly Field[],
  row: Readonly<Record<string, unknown>>,
): RowFault[] {
  const known = new Map(fields.map((field) => [field.name.toLowerCase(), field]));
  for (const [name, value] of Object.entries(row)) {
    const field = known.get(name.toLowerCase());
    if (field === undefined)
      return [{ reason: 'invalid', location: name, message: `no such field: ${name}.` }];
    const message = valueFault(field, value);
    if (message !== undefined) return [{ reason: 'invalid', location: name, message }];
  }
  const names = new Set(Object.keys(row).map((name) => name.toLowerCase()));
  const missing = fields.find(
    (field) =>
      field.mode === 'REQUIRED' &&
      field.defaultValue === undefined &&
      !names.has(field.name.toLowerCase()),
  );
  return missing === undefined
    ? []
    : [
        {
          reason: 'invalid',
          location: missing.name,
          message: `Missing required field: ${missing.name}.`,
        },
      ];
}

function valueFault(field: Field, value: unknown): string | undefined {
  if (field.mode === 'REPEATED') {
    if (!Array.isArray(value)) return 'Array specified for non-repeated field, or the reverse.';
    return value
      .map((item) => (item === null ? 'Repeated field must not be null.' : itemFault(field, item)))
      .find((fault) => fault !== undefined);
  }
  if (value === null)
    return field.mode === 'REQUIRED' ? `Missing required field: ${field.name}.` : undefined;
  return itemFault(field, value);
}

function itemFault(field: Field, value: unknown): string | undefined {
  if (field.type === 'STRUCT')
    return faultsOf(field.fields ?? [], value as Record<string, unknown>)[0]?.message;
  if (field.type === 'RANGE')
    return typeof value === 'object' ? undefined : 'Range value must be an object.';
  if (field.type === 'JSON') {
    try {
      JSON.parse(String(value));
      return undefined;
    } catch {
      return `Invalid JSON value: ${String(value)}`;
    }
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const form = FORMS[field.type];
  if (form !== undefined && !form.test(text))
    return `Cannot convert value to ${field.type.toLowerCase()}: ${text}`;
  if (field.maxLength !== undefined && Array.from(text).length > field.maxLength)
    return `Field ${field.name}: ${field.type}(${field.maxLength}) has maximum length ${field.maxLength} but got a value with length ${Array.from(text).length}`;
  if (field.type === 'INT64' && BigInt.asIntN(64, BigInt(text)) !== BigInt(text))
    return `Cannot convert value to integer (out of range): ${text}`;
  return undefined;
}
