/** What the columns of a result are in records: their logical types, and their values. */
import type Client from 'oracledb';
import { ConnectorError } from '../../../lib/errors.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { shortestFloat } from '../../../lib/text/shortest-float.ts';
import type { RecordField, RecordType, TimeUnit } from '../../../kit/record-schema.ts';
import { integer, jsonDecoder } from '../../_sql/value-decoders.ts';
import { instant, localInstant, wallClock } from '../exact-moments.ts';

export const SYSTEM = 'oracle';

/** What the client tells of a column. */
export interface ColumnInfo {
  readonly name: string;
  readonly nullable?: boolean | undefined;
  readonly dbTypeName?: string | undefined;
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
  readonly byteSize?: number | undefined;
}

export interface ResultColumn {
  readonly name: string;
  readonly field: RecordField;
  /** For values that are not null. */
  readonly decode: (value: unknown) => JsonValue;
}

const AS_TEXT = /^(?:NUMBER|CLOB|NCLOB|LONG|JSON|VECTOR)$/;
const AS_BYTES = /^(?:BLOB|LONG RAW)$/;

/** As what values of a column are fetched, where that is not what the client does by itself. */
export function wantedType(
  { STRING, BUFFER }: Pick<typeof Client, 'STRING' | 'BUFFER'>,
  { dbTypeName: name = '' }: ColumnInfo,
): Client.FetchTypeResponse | undefined {
  if (AS_TEXT.test(name)) return { type: STRING };
  return AS_BYTES.test(name) ? { type: BUFFER } : undefined;
}

export function resultColumn(
  metadata: ColumnInfo,
  jsonColumns: readonly string[] = [],
): ResultColumn {
  const { name, nullable = true } = metadata;
  const known = knownType(metadata);
  const isJson = jsonColumns.some((one) => inOneCase(one) === inOneCase(name));
  const { type, decode } = isJson ? jsonIn(name, known) : known;
  const native = { system: SYSTEM, name: known.native };
  return { name, field: { name, type, nullable, native }, decode };
}

interface Known {
  readonly type: RecordType;
  /** As it is written in a statement. */
  readonly native: string;
  readonly decode: (value: unknown) => JsonValue;
}

function jsonIn(column: string, { type }: Known): Pick<Known, 'type' | 'decode'> {
  if (type.kind !== 'utf8' && type.kind !== 'json')
    throw new ConnectorError('data', `\`json_columns\` names \`${column}\`, which is no text`, {
      hint: 'name columns of texts',
    });
  return { type: { kind: 'json' }, decode: documentOf(column) };
}

function documentOf(column: string): (value: unknown) => JsonValue {
  const decode = jsonDecoder({ column, bigNumbers: 'string', isRespelled: () => false });
  return (value) => {
    try {
      return decode(value as string);
    } catch (cause) {
      throw new ConnectorError('data', `a value of \`${column}\` is no JSON`, {
        hint: 'remove the column from `json_columns`, or correct the value',
        cause,
      });
    }
  };
}

const MOST_INT32 = 9;
const MOST_INT64 = 18;
const NANOS = 9;

function knownType(metadata: ColumnInfo): Known {
  const { dbTypeName: name = '', precision = 0, byteSize = 0 } = metadata;
  const bytes = Math.max(byteSize, 1);
  const text = (native: string): Known => ({ type: { kind: 'utf8' }, native, decode: asIs });
  const binary = (native: string): Known => ({ type: { kind: 'binary' }, native, decode: base64 });
  const moment = (
    native: string,
    written: (date: Date, places: number) => string,
    { places = precision, zone }: { readonly places?: number; readonly zone?: string } = {},
  ): Known => ({
    type: { kind: 'timestamp', unit: unitOf(places), ...(zone === undefined ? {} : { zone }) },
    native,
    decode: (value) => written(value as Date, places),
  });
  switch (name) {
    case 'NUMBER':
      return numberType(metadata);
    case 'BINARY_FLOAT':
      return { type: { kind: 'float32' }, native: name, decode: (value) => float(value, true) };
    case 'BINARY_DOUBLE':
      return { type: { kind: 'float64' }, native: name, decode: (value) => float(value, false) };
    case 'BOOLEAN':
      return { type: { kind: 'bool' }, native: name, decode: asIs };
    case 'VARCHAR2':
    case 'CHAR':
      return text(`${name}(${bytes} BYTE)`);
    case 'NVARCHAR2':
    case 'NCHAR':
      return text(`${name}(${Math.max(Math.trunc(bytes / 2), 1)})`);
    case 'CLOB':
    case 'NCLOB':
    case 'ROWID':
      return text(name);
    case 'LONG':
    case 'XMLTYPE':
    case 'VECTOR':
      return text('CLOB');
    case 'UROWID':
      return text('UROWID');
    case 'RAW':
      return binary(`RAW(${bytes})`);
    case 'BLOB':
    case 'LONG RAW':
      return binary('BLOB');
    case 'JSON':
      return { type: { kind: 'json' }, native: name, decode: documentOf(metadata.name) };
    case 'DATE':
      return moment('DATE', wallClock, { places: 0 });
    case 'TIMESTAMP':
      return moment(`TIMESTAMP(${precision})`, wallClock);
    case 'TIMESTAMP WITH TIME ZONE':
      return moment(`TIMESTAMP(${precision}) WITH TIME ZONE`, instant, { zone: 'UTC' });
    case 'TIMESTAMP WITH LOCAL TIME ZONE':
      return moment(`TIMESTAMP(${precision}) WITH LOCAL TIME ZONE`, localInstant, { zone: 'UTC' });
    case 'INTERVAL YEAR TO MONTH':
      return { type: { kind: 'interval' }, native: 'INTERVAL YEAR(9) TO MONTH', decode: months };
    case 'INTERVAL DAY TO SECOND':
      return {
        type: { kind: 'interval' },
        native: 'INTERVAL DAY(9) TO SECOND(9)',
        decode: seconds,
      };
    default:
      throw new ConnectorError(
        'data',
        `the column \`${metadata.name}\` is ${name}, of which no record can be made`,
        { hint: 'convert it in the query, such as with TO_CHAR or JSON_OBJECT, or leave it out' },
      );
  }
}

/** Numbers without limits have any scale. */
function numberType({ precision = 0, scale = 0 }: ColumnInfo): Known {
  if (precision === 0 || scale === ANY_SCALE)
    return { type: { kind: 'decimal' }, native: 'NUMBER', decode: (value) => digits(value, 0) };
  const native = `NUMBER(${precision},${scale})`;
  const wholes = scale < 0 ? precision - scale : precision;
  if (scale <= 0 && wholes <= MOST_INT64)
    return {
      type: { kind: wholes <= MOST_INT32 ? 'int32' : 'int64' },
      native,
      decode: (value) => integer(value as string),
    };
  const places = Math.max(scale, 0);
  return {
    type: { kind: 'decimal', precision: Math.max(wholes, places), scale: places },
    native,
    decode: (value) => digits(value, places),
  };
}

const ANY_SCALE = -127;

/** The client writes `.5` and leaves zeros at the end out. */
function digits(value: unknown, places: number): string {
  const [, sign = '', whole = '', fraction = ''] =
    /^(-?)(\d*)(?:\.(\d+))?$/.exec(value as string) ?? [];
  if (whole === '' && fraction === '') return value as string;
  const padded = fraction.padEnd(places, '0');
  return `${sign}${whole === '' ? '0' : whole}${padded === '' ? '' : `.${padded}`}`;
}

function unitOf(places: number): TimeUnit {
  if (places === 0) return 's';
  return places <= 3 ? 'ms' : places <= 6 ? 'us' : 'ns';
}

function asIs(value: unknown): JsonValue {
  return value as JsonValue;
}

function base64(value: unknown): string {
  return (value as Buffer).toString('base64');
}

function float(value: unknown, isShort: boolean): JsonValue {
  const number = value as number;
  if (!Number.isFinite(number)) return String(number);
  return isShort ? shortestFloat(number) : number;
}

/** Each part has the sign of the whole. */
function months(value: unknown): string {
  const { years, months: rest } = value as { readonly years: number; readonly months: number };
  const text = `${part(years, 'Y')}${part(rest, 'M')}`;
  return text === '' ? 'P0M' : `P${text}`;
}

function seconds(value: unknown): string {
  const {
    days,
    hours,
    minutes,
    seconds: whole,
    fseconds: nanos,
  } = value as Readonly<Record<'days' | 'hours' | 'minutes' | 'seconds' | 'fseconds', number>>;
  const isNegative = [days, hours, minutes, whole, nanos].some((one) => one < 0);
  const fraction = String(Math.abs(nanos)).padStart(NANOS, '0').replace(/0+$/, '');
  const second =
    whole === 0 && nanos === 0
      ? ''
      : `${isNegative ? '-' : ''}${Math.abs(whole)}${fraction === '' ? '' : `.${fraction}`}S`;
  const time = `${part(hours, 'H')}${part(minutes, 'M')}${second}`;
  const text = `${part(days, 'D')}${time === '' ? '' : `T${time}`}`;
  return text === '' ? 'PT0S' : `P${text}`;
}

function part(value: number, letter: string): string {
  return value === 0 ? '' : `${value}${letter}`;
}
