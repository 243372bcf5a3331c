/** The logical types of the columns of a file, as `converterOf` gives their values. */
import type { SchemaElement } from 'hyparquet';
import type { RecordField, RecordType, TimeUnit } from '../../../kit/record-schema.ts';
import { DURATION_COLUMN } from '../typed/column-kinds.ts';
import { keysColumn } from '../typed/map-keys.ts';
import { shapeOf, type SchemaNode } from './parquet-values.ts';

/** Every field may be null, because nulls leave their keys out. */
export function fieldOf(node: SchemaNode): RecordField {
  const type = typeOf(node);
  const field = { name: node.element.name, type, nullable: true };
  if (type.kind === 'interval') return { ...field, native: DURATION_COLUMN };
  const keys = keysIn(node);
  return keys.every(({ kind }) => kind === 'utf8') ? field : { ...field, native: keysColumn(keys) };
}

/** The types of the keys of its maps, from the outermost map inwards. */
function keysIn(node: SchemaNode): RecordType[] {
  const shape = shapeOf(node);
  if (shape.is === 'list') return shape.item === undefined ? [] : keysIn(shape.item);
  if (shape.is === 'old-list') return keysIn(shape.repeated);
  if (shape.is !== 'map') return [];
  const key: RecordType = shape.key === undefined ? JSON_TYPE : typeOf(shape.key);
  return [isKey(key) ? key : TEXT, ...(shape.value === undefined ? [] : keysIn(shape.value))];
}

/** Whether the name of a field tells which value of the type it was. */
function isKey({ kind }: RecordType): boolean {
  return kind !== 'json' && kind !== 'interval';
}

function typeOf(node: SchemaNode): RecordType {
  const type = presentType(node);
  return node.element.repetition_type === 'REPEATED' ? { kind: 'list', item: type } : type;
}

function presentType(node: SchemaNode): RecordType {
  const shape = shapeOf(node);
  switch (shape.is) {
    case 'leaf':
      return leafType(node.element);
    case 'variant':
      return { kind: 'json' };
    case 'list':
      return { kind: 'list', item: shape.item === undefined ? JSON_TYPE : presentType(shape.item) };
    case 'old-list':
      return typeOf(shape.repeated);
    case 'map':
      // The keys of an object are texts.
      return {
        kind: 'map',
        key: TEXT,
        value: shape.value === undefined ? JSON_TYPE : typeOf(shape.value),
      };
    case 'struct':
      return { kind: 'struct', fields: node.children.map(fieldOf) };
    default:
      return shape satisfies never;
  }
}

const JSON_TYPE: RecordType = { kind: 'json' };
const TEXT: RecordType = { kind: 'utf8' };

const UNITS: Readonly<Record<string, TimeUnit>> = { MILLIS: 'ms', MICROS: 'us', NANOS: 'ns' };

function leafType(element: SchemaElement): RecordType {
  const { converted_type: converted, logical_type: logical } = element;
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') {
    const { precision, scale = 0 } = element;
    return precision === undefined ? { kind: 'decimal' } : { kind: 'decimal', precision, scale };
  }
  if (logical?.type === 'TIMESTAMP')
    return timestamp(UNITS[logical.unit] ?? 'us', logical.isAdjustedToUTC);
  // A time of nanoseconds is a text: the type says nothing of its digits.
  if (logical?.type === 'TIME') return { kind: logical.unit === 'NANOS' ? 'utf8' : 'time' };
  if (logical?.type === 'INTEGER')
    return { kind: `${logical.isSigned ? '' : 'u'}int${logical.bitWidth as 8 | 16 | 32 | 64}` };
  return (
    LOGICAL[logical?.type ?? ''] ??
    CONVERTED[converted ?? ''] ??
    STORED[element.type ?? ''] ??
    JSON_TYPE
  );
}

function timestamp(unit: TimeUnit, isInstant: boolean): RecordType {
  return isInstant ? { kind: 'timestamp', unit, zone: 'UTC' } : { kind: 'timestamp', unit };
}

const LOGICAL: Readonly<Record<string, RecordType>> = {
  STRING: { kind: 'utf8' },
  ENUM: { kind: 'utf8' },
  JSON: { kind: 'json' },
  DATE: { kind: 'date' },
  UUID: { kind: 'uuid' },
  FLOAT16: { kind: 'float32' },
};

const CONVERTED: Readonly<Record<string, RecordType>> = {
  UTF8: { kind: 'utf8' },
  ENUM: { kind: 'utf8' },
  JSON: { kind: 'json' },
  DATE: { kind: 'date' },
  INTERVAL: { kind: 'interval' },
  TIME_MILLIS: { kind: 'time' },
  TIME_MICROS: { kind: 'time' },
  TIMESTAMP_MILLIS: timestamp('ms', true),
  TIMESTAMP_MICROS: timestamp('us', true),
  INT_8: { kind: 'int8' },
  INT_16: { kind: 'int16' },
  INT_32: { kind: 'int32' },
  INT_64: { kind: 'int64' },
  UINT_8: { kind: 'uint8' },
  UINT_16: { kind: 'uint16' },
  UINT_32: { kind: 'uint32' },
  UINT_64: { kind: 'uint64' },
};

const STORED: Readonly<Record<string, RecordType>> = {
  BOOLEAN: { kind: 'bool' },
  INT32: { kind: 'int32' },
  INT64: { kind: 'int64' },
  INT96: timestamp('ns', false),
  FLOAT: { kind: 'float32' },
  DOUBLE: { kind: 'float64' },
  BYTE_ARRAY: { kind: 'binary' },
  FIXED_LEN_BYTE_ARRAY: { kind: 'binary' },
};
