/** What the columns of a result are in records: their logical types, and their values. */
import type { RecordField, RecordType } from '../../kit/record-schema.ts';

export const SYSTEM = 'mssql';

/** What the client tells of a column. */
export interface ColumnInfo {
  readonly colName: string;
  readonly type: { readonly name: string };
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
  readonly dataLength?: number | undefined;
  readonly flags: number;
}

/** A value of a row: no lists, and no objects. */
export type Cell = string | number | bigint | boolean | null;

export interface ResultColumn {
  readonly name: string;
  readonly field: RecordField;
  readonly decode: (value: unknown) => Cell;
}

const NULLABLE = 1;

export function columnOf(info: ColumnInfo): ResultColumn {
  const known = knownType(info);
  const { colName: name, flags } = info;
  return {
    name,
    field: {
      name,
      type: known.type,
      nullable: (flags & NULLABLE) !== 0,
      native: { system: SYSTEM, name: known.native },
    },
    decode: known.decode,
  };
}

interface Known {
  readonly type: RecordType;
  /** As it is written in a statement. */
  readonly native: string;
  readonly decode: (value: unknown) => Cell;
}

const INTEGERS: Readonly<Record<number, readonly [RecordType['kind'], string]>> = {
  1: ['uint8', 'tinyint'],
  2: ['int16', 'smallint'],
  4: ['int32', 'int'],
  8: ['int64', 'bigint'],
};
const INTEGER_BYTES: Readonly<Record<string, number>> = {
  TinyInt: 1,
  SmallInt: 2,
  Int: 4,
  BigInt: 8,
};

function knownType(info: ColumnInfo): Known {
  const { precision = 38, scale = 0, dataLength = 0 } = info;
  const { name } = info.type;
  switch (name) {
    case 'TinyInt':
    case 'SmallInt':
    case 'Int':
    case 'BigInt':
    case 'IntN': {
      const [kind, native] =
        INTEGERS[INTEGER_BYTES[name] ?? dataLength] ?? (['int64', 'bigint'] as const);
      return { type: { kind } as RecordType, native, decode: plain };
    }
    case 'Real':
      return { type: { kind: 'float32' }, native: 'real', decode: plain };
    case 'Float':
      return { type: { kind: 'float64' }, native: 'float', decode: plain };
    case 'FloatN':
      return dataLength === 4
        ? { type: { kind: 'float32' }, native: 'real', decode: plain }
        : { type: { kind: 'float64' }, native: 'float', decode: plain };
    case 'Bit':
    case 'BitN':
      return { type: { kind: 'bool' }, native: 'bit', decode: plain };
    case 'Money':
    case 'SmallMoney':
    case 'MoneyN': {
      const isSmall = name === 'SmallMoney' || dataLength === 4;
      const type: RecordType = { kind: 'decimal', precision: isSmall ? 10 : 19, scale: 4 };
      return { type, native: isSmall ? 'smallmoney' : 'money', decode: plain };
    }
    case 'NumericN':
    case 'DecimalN':
      return {
        type: { kind: 'decimal', precision, scale },
        native: `decimal(${precision},${scale})`,
        decode: plain,
      };
    case 'Date':
      return { type: { kind: 'date' }, native: 'date', decode: plain };
    case 'Time':
      return { type: { kind: 'time' }, native: `time(${scale})`, decode: plain };
    case 'SmallDateTime':
    case 'DateTime':
    case 'DateTimeN': {
      const isSmall = name === 'SmallDateTime' || dataLength === 4;
      const native = isSmall ? 'smalldatetime' : 'datetime';
      return { type: { kind: 'timestamp', unit: isSmall ? 's' : 'ms' }, native, decode: plain };
    }
    case 'DateTime2':
      return {
        type: { kind: 'timestamp', unit: unitOf(scale) },
        native: `datetime2(${scale})`,
        decode: plain,
      };
    case 'DateTimeOffset':
      return {
        type: { kind: 'timestamp', unit: unitOf(scale), zone: 'UTC' },
        native: `datetimeoffset(${scale})`,
        decode: plain,
      };
    case 'UniqueIdentifier':
      return { type: { kind: 'uuid' }, native: 'uniqueidentifier', decode: plain };
    case 'VarBinary':
    case 'Binary':
      return { type: { kind: 'binary' }, native: sized(name, dataLength, 1), decode: base64 };
    case 'Image':
    case 'UDT':
      return { type: { kind: 'binary' }, native: 'varbinary(max)', decode: base64 };
    case 'VarChar':
    case 'Char':
      return { type: { kind: 'utf8' }, native: sized(name, dataLength, 1), decode: plain };
    case 'NVarChar':
    case 'NChar':
      return { type: { kind: 'utf8' }, native: sized(name, dataLength, 2), decode: plain };
    case 'Xml':
      return { type: { kind: 'utf8' }, native: 'xml', decode: plain };
    default:
      // `text`, `ntext`, and `sql_variant`, in which each value has a type of its own.
      return { type: { kind: 'utf8' }, native: 'nvarchar(max)', decode: anyText };
  }
}

const MOST_BYTES = 65_535;

function sized(name: string, bytes: number, unit: number): string {
  return `${name.toLowerCase()}(${bytes === MOST_BYTES ? 'max' : bytes / unit})`;
}

function unitOf(scale: number): 's' | 'ms' | 'us' | 'ns' {
  if (scale === 0) return 's';
  return scale <= 3 ? 'ms' : scale <= 6 ? 'us' : 'ns';
}

function plain(value: unknown): Cell {
  return value as Cell;
}

function base64(value: unknown): Cell {
  return Buffer.isBuffer(value) ? value.toString('base64') : (value as Cell);
}

function anyText(value: unknown): Cell {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  const cell = value as Cell;
  return cell === null ? null : String(cell);
}
