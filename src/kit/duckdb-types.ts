/** The types of DuckDB as types of fields, and the other way round. */
import type * as Api from '@duckdb/node-api';
import { duckdbLibrary } from '../lib/sql/duckdb.ts';
import { quoteName } from '../lib/sql/sql-name.ts';
import type { RecordField, RecordSchema, RecordType } from './record-schema.ts';

/** Of the types that DuckDB itself has for columns. */
export const DUCKDB_SYSTEM = 'duckdb';

export function schemaOfResult(result: Api.DuckDBResult): RecordSchema {
  const names = result.columnNames();
  return {
    fields: result.columnTypes().map((type, index) => duckdbField(names[index] ?? '', type)),
  };
}

export function duckdbField(name: string, type: Api.DuckDBType): RecordField {
  const native = { system: DUCKDB_SYSTEM, name: nativeName(type) };
  return { name, type: recordType(type), nullable: true, native };
}

/** Types without a logical type of their own are texts, in the spelling of the engine. */
function recordType(type: Api.DuckDBType): RecordType {
  const { DuckDBTypeId: Id } = duckdbLibrary();
  switch (type.typeId) {
    case Id.DECIMAL:
      return { kind: 'decimal', precision: type.width, scale: type.scale };
    case Id.VARCHAR:
      return { kind: type.alias === 'JSON' ? 'json' : 'utf8' };
    case Id.LIST:
    case Id.ARRAY:
      return { kind: 'list', item: recordType(type.valueType) };
    case Id.MAP:
      return {
        kind: 'map',
        // In a record they are the names of fields.
        key: { kind: 'utf8' },
        value: recordType(type.valueType),
      };
    case Id.STRUCT:
      return {
        kind: 'struct',
        fields: type.entryNames.map((name, index) => ({
          name,
          type: recordType(type.entryTypes[index] as Api.DuckDBType),
          nullable: true,
        })),
      };
    default:
      return simpleType(type.typeId, Id);
  }
}

function simpleType(id: number, Id: typeof Api.DuckDBTypeId): RecordType {
  const types = new Map<number, RecordType>([
    [Id.BOOLEAN, { kind: 'bool' }],
    [Id.TINYINT, { kind: 'int8' }],
    [Id.SMALLINT, { kind: 'int16' }],
    [Id.INTEGER, { kind: 'int32' }],
    [Id.BIGINT, { kind: 'int64' }],
    [Id.UTINYINT, { kind: 'uint8' }],
    [Id.USMALLINT, { kind: 'uint16' }],
    [Id.UINTEGER, { kind: 'uint32' }],
    [Id.UBIGINT, { kind: 'uint64' }],
    // Sums of integers are of these types, and mostly far from their bounds.
    [Id.HUGEINT, { kind: 'int64' }],
    [Id.UHUGEINT, { kind: 'uint64' }],
    [Id.FLOAT, { kind: 'float32' }],
    [Id.DOUBLE, { kind: 'float64' }],
    [Id.BLOB, { kind: 'binary' }],
    [Id.DATE, { kind: 'date' }],
    [Id.TIME, { kind: 'time' }],
    [Id.UUID, { kind: 'uuid' }],
    [Id.TIMESTAMP_S, { kind: 'timestamp', unit: 's' }],
    [Id.TIMESTAMP_MS, { kind: 'timestamp', unit: 'ms' }],
    [Id.TIMESTAMP, { kind: 'timestamp', unit: 'us' }],
    [Id.TIMESTAMP_NS, { kind: 'timestamp', unit: 'ns' }],
    [Id.TIMESTAMP_TZ, { kind: 'timestamp', unit: 'us', zone: 'UTC' }],
    [Id.UNION, { kind: 'json' }],
  ]);
  return types.get(id) ?? { kind: 'utf8' };
}

function nativeName(type: Api.DuckDBType): string {
  const { DuckDBTypeId: Id } = duckdbLibrary();
  if (type.alias !== undefined) return type.alias;
  switch (type.typeId) {
    case Id.LIST:
      return `${nativeName(type.valueType)}[]`;
    case Id.ARRAY:
      return `${nativeName(type.valueType)}[${type.length}]`;
    case Id.MAP:
      return `MAP(${nativeName(type.keyType)}, ${nativeName(type.valueType)})`;
    case Id.STRUCT: {
      const entries = type.entryNames.map(
        (name, index) =>
          `${quoteName(name)} ${nativeName(type.entryTypes[index] as Api.DuckDBType)}`,
      );
      return `STRUCT(${entries.join(', ')})`;
    }
    case Id.UNION: {
      const members = type.memberTags.map(
        (tag, index) =>
          `${quoteName(tag)} ${nativeName(type.memberTypes[index] as Api.DuckDBType)}`,
      );
      return `UNION(${members.join(', ')})`;
    }
    default:
      return String(type);
  }
}

const SIMPLE: Readonly<Record<string, string>> = {
  bool: 'BOOLEAN',
  int8: 'TINYINT',
  int16: 'SMALLINT',
  int32: 'INTEGER',
  int64: 'BIGINT',
  uint8: 'UTINYINT',
  uint16: 'USMALLINT',
  uint32: 'UINTEGER',
  uint64: 'UBIGINT',
  float32: 'FLOAT',
  float64: 'DOUBLE',
  binary: 'BLOB',
  date: 'DATE',
  time: 'TIME',
  uuid: 'UUID',
  json: 'JSON',
};
const TIMESTAMPS = { s: 'TIMESTAMP_S', ms: 'TIMESTAMP_MS', us: 'TIMESTAMP', ns: 'TIMESTAMP_NS' };
const MOST_DIGITS = 38;

/** The type of a column that holds values of a logical type. */
export function duckdbTypeFor(type: RecordType): string {
  switch (type.kind) {
    case 'decimal': {
      const { precision = Infinity, scale = 0 } = type;
      // Decimals beyond what the engine holds keep their digits as text.
      const fits = precision <= MOST_DIGITS && scale >= 0 && scale <= precision;
      return fits ? `DECIMAL(${precision}, ${scale})` : 'VARCHAR';
    }
    case 'timestamp':
      return type.zone === undefined ? TIMESTAMPS[type.unit] : 'TIMESTAMPTZ';
    case 'list':
      return `${duckdbTypeFor(type.item)}[]`;
    case 'map':
      return `MAP(${duckdbTypeFor(type.key)}, ${duckdbTypeFor(type.value)})`;
    case 'struct':
      return type.fields.length === 0
        ? 'JSON'
        : `STRUCT(${type.fields.map((one) => `${quoteName(one.name)} ${duckdbTypeFor(one.type)}`).join(', ')})`;
    default:
      return SIMPLE[type.kind] ?? 'VARCHAR';
  }
}
