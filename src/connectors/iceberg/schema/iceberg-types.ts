/** The types of a table, as its metadata writes them, and as records have them. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { RecordType } from '../../../kit/record-schema.ts';

export type IcebergType =
  | { readonly is: 'primitive'; readonly name: string }
  | { readonly is: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly is: 'fixed'; readonly length: number }
  | IcebergStruct
  | {
      readonly is: 'list';
      readonly elementId: number;
      readonly element: IcebergType;
      readonly elementRequired: boolean;
    }
  | {
      readonly is: 'map';
      readonly keyId: number;
      readonly key: IcebergType;
      readonly valueId: number;
      readonly value: IcebergType;
      readonly valueRequired: boolean;
    };

export interface IcebergStruct {
  readonly is: 'struct';
  readonly fields: readonly IcebergField[];
}

export interface IcebergField {
  readonly id: number;
  readonly name: string;
  readonly type: IcebergType;
  readonly required: boolean;
}

const PRIMITIVES: Readonly<Record<string, RecordType>> = {
  boolean: { kind: 'bool' },
  int: { kind: 'int32' },
  long: { kind: 'int64' },
  float: { kind: 'float32' },
  double: { kind: 'float64' },
  date: { kind: 'date' },
  time: { kind: 'time' },
  timestamp: { kind: 'timestamp', unit: 'us' },
  timestamptz: { kind: 'timestamp', unit: 'us', zone: 'UTC' },
  string: { kind: 'utf8' },
  uuid: { kind: 'uuid' },
  binary: { kind: 'binary' },
};

const DECIMAL = /^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$/;
const FIXED = /^fixed\[\s*(\d+)\s*\]$/;

export function parseStruct(value: JsonValue | undefined, table: string): IcebergStruct {
  const type = typeOf(value, table);
  if (type.is !== 'struct') throw unknownType(value, table);
  return type;
}

function typeOf(value: JsonValue | undefined, table: string): IcebergType {
  if (typeof value === 'string') return primitiveOf(value, table);
  if (!isObject(value)) throw unknownType(value, table);
  switch (value['type']) {
    case 'struct': {
      const { fields } = value;
      if (!Array.isArray(fields)) throw unknownType(value, table);
      return { is: 'struct', fields: fields.map((field) => fieldOf(field, table)) };
    }
    case 'list':
      return {
        is: 'list',
        elementId: idOf(value['element-id'], table),
        element: typeOf(value['element'], table),
        elementRequired: value['element-required'] === true,
      };
    case 'map':
      return {
        is: 'map',
        keyId: idOf(value['key-id'], table),
        key: typeOf(value['key'], table),
        valueId: idOf(value['value-id'], table),
        value: typeOf(value['value'], table),
        valueRequired: value['value-required'] === true,
      };
    default:
      throw unknownType(value, table);
  }
}

function primitiveOf(name: string, table: string): IcebergType {
  if (Object.hasOwn(PRIMITIVES, name)) return { is: 'primitive', name };
  const [, precision, scale] = DECIMAL.exec(name) ?? [];
  if (precision !== undefined)
    return { is: 'decimal', precision: Number(precision), scale: Number(scale) };
  const [, length] = FIXED.exec(name) ?? [];
  if (length === undefined) throw unknownType(name, table);
  return { is: 'fixed', length: Number(length) };
}

function fieldOf(field: JsonValue, table: string): IcebergField {
  if (!isObject(field) || typeof field['name'] !== 'string') throw unknownType(field, table);
  return {
    id: idOf(field['id'], table),
    name: field['name'],
    type: typeOf(field['type'], table),
    required: field['required'] === true,
  };
}

function idOf(value: JsonValue | undefined, table: string): number {
  if (typeof value === 'number') return value;
  throw new ConnectorError('data', `the schema of the table ${table} has a field without an id`, {
    hint: 'the metadata is damaged; restore it',
  });
}

function unknownType(value: JsonValue | undefined, table: string): ConnectorError {
  const name = isObject(value) ? value['type'] : value;
  return new ConnectorError(
    'refused',
    `the schema of the table ${table} has a type that is not known: ${JSON.stringify(name ?? null)}`,
    { hint: 'have the table written without it, or read by a program that knows it' },
  );
}

export function typeJson(type: IcebergType): JsonValue {
  switch (type.is) {
    case 'primitive':
      return type.name;
    case 'decimal':
      return `decimal(${type.precision}, ${type.scale})`;
    case 'fixed':
      return `fixed[${type.length}]`;
    case 'list':
      return {
        type: 'list',
        'element-id': type.elementId,
        element: typeJson(type.element),
        'element-required': type.elementRequired,
      };
    case 'map':
      return {
        type: 'map',
        'key-id': type.keyId,
        key: typeJson(type.key),
        'value-id': type.valueId,
        value: typeJson(type.value),
        'value-required': type.valueRequired,
      };
    case 'struct':
      return { type: 'struct', fields: type.fields.map(fieldJson) };
    default:
      return type satisfies never;
  }
}

export function fieldJson({ id, name, type, required }: IcebergField): JsonObject {
  return { id, name, required, type: typeJson(type) };
}

/** As messages name it. */
export function typeText(type: IcebergType): string {
  const json = typeJson(type);
  return typeof json === 'string' ? json : type.is;
}

/** In the records of a source. */
export function recordTypeOf(type: IcebergType): RecordType {
  switch (type.is) {
    case 'primitive':
      return PRIMITIVES[type.name] ?? { kind: 'utf8' };
    case 'decimal':
      return { kind: 'decimal', precision: type.precision, scale: type.scale };
    case 'fixed':
      return { kind: 'binary' };
    case 'list':
      return { kind: 'list', item: recordTypeOf(type.element) };
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

/** The same type whose fields have the next ids, those at the top before those inside of them. */
export function withFreshIds(
  fields: readonly IcebergField[],
  lastId: number,
): { readonly fields: readonly IcebergField[]; readonly lastId: number } {
  let last = lastId;
  const next = (): number => (last += 1);
  const numbered = (some: readonly IcebergField[]): IcebergField[] => {
    const ids = some.map(next);
    return some.map((field, index) => ({
      ...field,
      id: ids[index] ?? 0,
      type: inside(field.type),
    }));
  };
  const inside = (type: IcebergType): IcebergType => {
    switch (type.is) {
      case 'struct':
        return { is: 'struct', fields: numbered(type.fields) };
      case 'list':
        return { ...type, elementId: next(), element: inside(type.element) };
      case 'map': {
        const [keyId, valueId] = [next(), next()];
        return { ...type, keyId, key: inside(type.key), valueId, value: inside(type.value) };
      }
      default:
        return type;
    }
  };
  const made = numbered(fields);
  return { fields: made, lastId: last };
}

/** A field with the names above it; those inside of lists and maps are not among them. */
export interface Leaf {
  readonly path: readonly string[];
  readonly field: IcebergField;
}

export function leavesOf(fields: readonly IcebergField[], above: readonly string[] = []): Leaf[] {
  return fields.flatMap((field): Leaf[] => {
    const path = [...above, field.name];
    return field.type.is === 'struct' ? leavesOf(field.type.fields, path) : [{ path, field }];
  });
}
