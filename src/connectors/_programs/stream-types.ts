/** The JSON Schema of a stream as types of fields. */
import type { RecordField, RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** Fields whose type is not one alone are left out: nothing is known of them. */
export function schemaOfStream({ properties }: JsonObject): RecordSchema | undefined {
  if (!isObject(properties)) return undefined;
  const fields = Object.entries(properties).flatMap(([name, schema]): RecordField[] => {
    const names = typesIn(schema);
    const [only, ...others] = names.filter((one) => one !== 'null');
    const type =
      others.length === 0 && isObject(schema) ? typeOf(only, schema['format']) : undefined;
    return type === undefined ? [] : [{ name, type, nullable: names.includes('null') }];
  });
  return fields.length === 0 ? undefined : Object.freeze({ fields, others: true });
}

function typesIn(schema: JsonValue): readonly string[] {
  const type = isObject(schema) ? schema['type'] : undefined;
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? type.filter((one) => typeof one === 'string') : [];
}

const FORMATS: ReadonlyMap<JsonValue | undefined, RecordType> = new Map<
  JsonValue | undefined,
  RecordType
>([
  ['date-time', { kind: 'timestamp', unit: 'us', zone: 'UTC' }],
  ['date', { kind: 'date' }],
  ['time', { kind: 'time' }],
]);

function typeOf(name: string | undefined, format: JsonValue | undefined): RecordType | undefined {
  switch (name) {
    case 'boolean':
      return { kind: 'bool' };
    case 'integer':
      return { kind: 'int64' };
    case 'number':
      return { kind: 'float64' };
    case 'string':
      return FORMATS.get(format) ?? { kind: 'utf8' };
    case 'object':
    case 'array':
      return { kind: 'json' };
    default:
      return undefined;
  }
}
