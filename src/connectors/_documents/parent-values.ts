/** `{field}` in the texts of a condition: the value of the parent record. */
import { ConnectorError } from '../../lib/errors.ts';
import {
  isObject,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { readerOf } from '../../kit/field-path.ts';

const TOKEN = /\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}/g;
const WHOLE = new RegExp(`^${TOKEN.source}$`);

/**
 * A text that is nothing but `{field}` becomes the value itself, whatever its type; inside a longer
 * text it becomes a part of that text. Values never become operators of their own accord: they stand
 * where the document put them.
 */
export function withParentValues(condition: JsonObject, parent: JsonValue | undefined): JsonObject {
  return parent === undefined ? condition : filledObject(condition, parent);
}

function filledObject(object: JsonObject, parent: JsonValue): JsonObject {
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(object)) setField(result, key, filled(value, parent));
  return result;
}

function filled(value: JsonValue, parent: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => filled(item, parent));
  if (isObject(value)) return filledObject(value, parent);
  if (typeof value !== 'string') return value;
  const whole = WHOLE.exec(value)?.[1];
  if (whole !== undefined) return valueOf(whole, parent);
  return value.replaceAll(TOKEN, (_token, name: string) => jsonText(valueOf(name, parent)));
}

function valueOf(name: string, parent: JsonValue): JsonValue {
  const value =
    isObject(parent) && Object.hasOwn(parent, name)
      ? parent[name]
      : readerOf(name.split('.'))(parent);
  if (value !== undefined) return value;
  throw new ConnectorError(
    'missing',
    `\`{${name}}\` has no value: the parent record has no such field`,
    {
      hint: isObject(parent)
        ? `its fields: ${Object.keys(parent).join(', ')}`
        : 'the parent record is not an object',
    },
  );
}
