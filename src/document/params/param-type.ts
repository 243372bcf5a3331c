import { isObject, jsonText, type JsonScalar, type JsonValue } from '../../lib/text/json.ts';

export const PARAM_TYPES = ['string', 'int', 'float', 'bool'] as const;
export type ParamType = (typeof PARAM_TYPES)[number];

/**
 * A supplied value, converted to the type of the parameter; `undefined` when it has another type.
 */
export function coerced(type: ParamType, value: JsonValue): JsonScalar | undefined {
  if (typeof value !== 'string' || type === 'string') return literalValue(type, value);
  const text = value.trim();
  if (type === 'int') return integerOf(text);
  if (type === 'float')
    return NUMBER.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined;
  return BOOLEANS[text.toLowerCase()];
}

/** A value written into the document: texts are not read as numbers or booleans. */
export function literalValue(type: ParamType, value: JsonValue): JsonScalar | undefined {
  if (value === null || Array.isArray(value) || isObject(value)) return undefined;
  switch (type) {
    case 'string':
      return jsonText(value);
    case 'int':
      return typeof value === 'bigint' || Number.isInteger(value) ? value : undefined;
    case 'float':
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
    case 'bool':
      return typeof value === 'boolean' ? value : undefined;
    default:
      return type satisfies never;
  }
}

/** A placeholder for a value that is not supplied yet, while a document is only checked. */
export const PLACEHOLDERS: Readonly<Record<ParamType, JsonScalar>> = {
  string: '<param>',
  int: 0,
  float: 0,
  bool: false,
};

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const BOOLEANS: Readonly<Record<string, boolean | undefined>> = Object.assign(
  Object.create(null) as Record<string, boolean>,
  {
    true: true,
    yes: true,
    '1': true,
    false: false,
    no: false,
    '0': false,
  },
);

/** Beyond the safe range every digit is kept. */
function integerOf(text: string): number | bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) + 0 : BigInt(text.replace('+', ''));
}
