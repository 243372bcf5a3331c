/** The types of a table, as its log writes them, and as records have them. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, parseJson, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { RecordType } from '../../../kit/record-schema.ts';

export type DeltaType =
  | { readonly is: 'primitive'; readonly name: string }
  | { readonly is: 'decimal'; readonly precision: number; readonly scale: number }
  | DeltaStruct
  | { readonly is: 'array'; readonly item: DeltaType; readonly hasNulls: boolean }
  | {
      readonly is: 'map';
      readonly key: DeltaType;
      readonly value: DeltaType;
      readonly hasNulls: boolean;
    };

export interface DeltaStruct {
  readonly is: 'struct';
  readonly fields: readonly DeltaField[];
}

export interface DeltaField {
  readonly name: string;
  readonly type: DeltaType;
  readonly nullable: boolean;
  readonly metadata: JsonObject;
}

const PRIMITIVES: Readonly<Record<string, RecordType>> = {
  string: { kind: 'utf8' },
  long: { kind: 'int64' },
  integer: { kind: 'int32' },
  short: { kind: 'int16' },
  byte: { kind: 'int8' },
  float: { kind: 'float32' },
  double: { kind: 'float64' },
  boolean: { kind: 'bool' },
  binary: { kind: 'binary' },
  date: { kind: 'date' },
  timestamp: { kind: 'timestamp', unit: 'us', zone: 'UTC' },
  timestamp_ntz: { kind: 'timestamp', unit: 'us' },
};

const DECIMAL = /^decimal\((\d+),\s*(-?\d+)\)$/;

export function parseSchema(text: string, table: string): DeltaStruct {
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch {
    throw damaged(table, 'is not JSON');
  }
  const type = typeOf(value, table);
  return type.is === 'struct' ? type : damagedType(table, value);
}

function typeOf(value: JsonValue | undefined, table: string): DeltaType {
  if (typeof value === 'string') {
    if (Object.hasOwn(PRIMITIVES, value)) return { is: 'primitive', name: value };
    const [, precision, scale] = DECIMAL.exec(value) ?? [];
    if (precision === undefined) return damagedType(table, value);
    return { is: 'decimal', precision: Number(precision), scale: Number(scale) };
  }
  if (!isObject(value)) return damagedType(table, value);
  switch (value['type']) {
    case 'struct': {
      const { fields } = value;
      if (!Array.isArray(fields)) return damagedType(table, value);
      return { is: 'struct', fields: fields.map((field) => parseField(field, table)) };
    }
    case 'array':
      return {
        is: 'array',
        item: typeOf(value['elementType'], table),
        hasNulls: value['containsNull'] !== false,
      };
    case 'map':
      return {
        is: 'map',
        key: typeOf(value['keyType'], table),
        value: typeOf(value['valueType'], table),
        hasNulls: value['valueContainsNull'] !== false,
      };
    default:
      return damagedType(table, value);
  }
}

function parseField(field: JsonValue, table: string): DeltaField {
  if (!isObject(field) || typeof field['name'] !== 'string') return damagedType(table, field);
  const { name, metadata, nullable } = field;
  return {
    name,
    type: typeOf(field['type'], table),
    nullable: nullable !== false,
    metadata: isObject(metadata) ? metadata : {},
  };
}

function damagedType(table: string, value: JsonValue | undefined): never {
  const name = isObject(value) ? value['type'] : value;
  throw damaged(table, `has a type that is not known: ${JSON.stringify(name ?? null)}`);
}

function damaged(table: string, what: string): ConnectorError {
  return new ConnectorError('refused', `the schema of the table ${table} ${what}`, {
    hint: 'have the table written without it, or read by a program that knows it',
  });
}

export function schemaText(schema: DeltaStruct): string {
  return JSON.stringify(jsonOf(schema));
}

function jsonOf(type: DeltaType): JsonValue {
  switch (type.is) {
    case 'primitive':
      return type.name;
    case 'decimal':
      return `decimal(${type.precision},${type.scale})`;
    case 'array':
      return { type: 'array', elementType: jsonOf(type.item), containsNull: type.hasNulls };
    case 'map':
      return {
        type: 'map',
        keyType: jsonOf(type.key),
        valueType: jsonOf(type.value),
        valueContainsNull: type.hasNulls,
      };
    case 'struct':
      return {
        type: 'struct',
        fields: type.fields.map(({ name, type: inner, nullable, metadata }) => ({
          name,
          type: jsonOf(inner),
          nullable,
          metadata,
        })),
      };
    default:
      return type satisfies never;
  }
}

/** As messages name it. */
export function deltaText(type: DeltaType): string {
  const json = jsonOf(type);
  return typeof json === 'string' ? json : type.is;
}

/** All fields of a struct, with those inside of others. */
export function fieldsBelow(type: DeltaType): readonly DeltaField[] {
  switch (type.is) {
    case 'struct':
      return type.fields.flatMap((field) => [field, ...fieldsBelow(field.type)]);
    case 'array':
      return fieldsBelow(type.item);
    case 'map':
      return [...fieldsBelow(type.key), ...fieldsBelow(type.value)];
    default:
      return [];
  }
}

/** In the records of a source. */
export function recordTypeOf(type: DeltaType): RecordType {
  switch (type.is) {
    case 'primitive':
      return PRIMITIVES[type.name] ?? { kind: 'utf8' };
    case 'decimal':
      return { kind: 'decimal', precision: type.precision, scale: type.scale };
    case 'array':
      return { kind: 'list', item: recordTypeOf(type.item) };
    case 'map':
      // The keys of an object are texts.
      return { kind: 'map', key: { kind: 'utf8' }, value: recordTypeOf(type.value) };
    case 'struct':
      return {
        kind: 'struct',
        fields: type.fields.map((field) => ({
          name: field.name,
          type: recordTypeOf(field.type),
          nullable: true,
        })),
      };
    default:
      return type satisfies never;
  }
}
