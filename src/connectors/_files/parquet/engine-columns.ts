/** How values of each kind reach the engine, and what it makes of them in a column. */
import type { RecordType } from '../../../kit/record-schema.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { quoteText } from '../../../lib/sql/duckdb.ts';
import type { ColumnKind } from '../typed/column-kinds.ts';
import type { RowValue } from './parquet-rows.ts';

export interface EngineColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  /** In which values are given to the engine. */
  readonly type: InputType;
  /** Whether any text is a value of the column as it is. */
  readonly isText: boolean;
  /** The stored form as it is given to the engine; absent where it is the same. */
  readonly encode?: (value: unknown) => RowValue;
  /** Finds a negative zero in what is given to the engine; absent where there is none. */
  readonly hasNegativeZero?: (given: RowValue) => boolean;
  /** SQL that makes the column. */
  readonly expression: (from: string) => string;
}

type InputType =
  | 'BOOLEAN'
  | 'TINYINT'
  | 'SMALLINT'
  | 'INTEGER'
  | 'BIGINT'
  | 'UTINYINT'
  | 'USMALLINT'
  | 'UINTEGER'
  | 'UBIGINT'
  | 'FLOAT'
  | 'DOUBLE'
  | 'VARCHAR';

export function engineColumns(columns: ReadonlyMap<string, ColumnKind>): EngineColumn[] {
  return [...columns].map(([name, kind]) => ({ name, kind, ...engineColumn(kind) }));
}

function engineColumn(kind: ColumnKind): Omit<EngineColumn, 'name' | 'kind'> {
  if (kind.is !== 'list' && kind.is !== 'struct' && kind.is !== 'map') {
    const type = inputType(kind);
    const isFloat = type === 'FLOAT' || type === 'DOUBLE';
    return {
      type,
      isText: (kind.is === 'string' && kind.documents !== true) || kind.is === 'unknown',
      ...(isFloat ? { hasNegativeZero: isNegativeZero } : {}),
      expression: (from) => converted(from, kind),
    };
  }
  const structure = quoteText(JSON.stringify(structureOf(kind)));
  return {
    type: 'VARCHAR',
    isText: false,
    encode: nestedText,
    hasNegativeZero: (given) =>
      typeof given === 'string' && given.includes(JSON.stringify(NEGATIVE_ZERO)),
    expression: (from) => converted(`from_json(${from}, ${structure})`, kind),
  };
}

const KINDS = { boolean: 'BOOLEAN', integer: 'BIGINT', number: 'DOUBLE' } as const;

const TYPES: Readonly<Partial<Record<RecordType['kind'], InputType>>> = {
  int8: 'TINYINT',
  int16: 'SMALLINT',
  int32: 'INTEGER',
  uint8: 'UTINYINT',
  uint16: 'USMALLINT',
  uint32: 'UINTEGER',
  uint64: 'UBIGINT',
  float32: 'FLOAT',
  float64: 'DOUBLE',
  // Numbers to the engine; the footer of the file says what they count.
  date: 'INTEGER',
  time: 'BIGINT',
  timestamp: 'BIGINT',
};

type Leaf = Exclude<ColumnKind, { is: 'list' | 'struct' | 'map' }>;

function inputType(kind: Leaf): InputType {
  if (kind.is === 'typed') return TYPES[kind.type.kind] ?? 'VARCHAR';
  return kind.is === 'boolean' || kind.is === 'integer' || kind.is === 'number'
    ? KINDS[kind.is]
    : 'VARCHAR';
}

/** The structure of a nested value in the form the engine needs: `{"a": ["BIGINT"]}`. */
function structureOf(kind: ColumnKind): JsonValue {
  switch (kind.is) {
    case 'list':
      return [structureOf(kind.of)];
    case 'map':
      return [{ key: structureOf(kind.key), value: structureOf(kind.value) }];
    case 'struct':
      return Object.fromEntries(
        [...kind.fields].map(([name, inner]) => [name, structureOf(inner)]),
      );
    default:
      return inputType(kind);
  }
}

/** What the engine has to do with a value that it was given; the value itself for most kinds. */
function converted(from: string, kind: ColumnKind): string {
  switch (kind.is) {
    case 'json':
      return `CAST(${from} AS JSON)`;
    case 'typed':
      return convertedLeaf(from, kind.type);
    case 'list':
      return eachItem(from, (item) => converted(item, kind.of));
    case 'map': {
      const entries = eachItem(
        from,
        (entry) =>
          `struct_pack("key" := ${converted(`${entry}."key"`, kind.key)}, "value" := ${converted(`${entry}."value"`, kind.value)})`,
      );
      return `map_from_entries(${entries})`;
    }
    case 'struct': {
      const fields = [...kind.fields].map(([name, inner]) => {
        const field = quoteName(name);
        return { field, own: `${from}.${field}`, made: converted(`${from}.${field}`, inner) };
      });
      if (fields.every(({ own, made }) => own === made)) return from;
      const packed = fields.map(({ field, made }) => `${field} := ${made}`).join(', ');
      return `CASE WHEN ${from} IS NULL THEN NULL ELSE struct_pack(${packed}) END`;
    }
    default:
      return from;
  }
}

function convertedLeaf(from: string, type: RecordType): string {
  switch (type.kind) {
    case 'binary':
      return `from_base64(${from})`;
    case 'interval':
      return `CAST(${from} AS INTERVAL)`;
    case 'uuid':
      return `CAST(${from} AS UUID)`;
    case 'decimal':
      return `CAST(${from} AS DECIMAL(${type.precision ?? 0}, ${type.scale ?? 0}))`;
    default:
      return from;
  }
}

/** Variables of functions inside functions have names of their own. */
function eachItem(from: string, change: (item: string) => string): string {
  const item = `v${from.length}`;
  const made = change(item);
  return made === item ? from : `list_transform(${from}, lambda ${item}: ${made})`;
}

function isNegativeZero(value: unknown): boolean {
  return Object.is(value, -0);
}

const NEGATIVE_ZERO = '-0.0';

/** JSON has no number for NaN and the infinities; the engine reads them from texts. */
function nestedText(value: unknown): string {
  return stringifyJson(withTextFloats(value));
}

function withTextFloats(value: unknown): JsonValue {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (isNegativeZero(value)) return NEGATIVE_ZERO;
  if (Array.isArray(value)) return value.map(withTextFloats);
  if (typeof value !== 'object' || value === null) return (value ?? null) as JsonValue;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withTextFloats(inner)]),
  );
}
