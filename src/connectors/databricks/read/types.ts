/** What the columns of a result are in records: their logical types, and their values. */
import type { RecordField, RecordSchema, RecordType } from '../../../kit/record-schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { instantText } from '../../_sql/micros.ts';
import { float, integer, jsonDecoder } from '../../_sql/value-decoders.ts';
import { backticked } from '../names.ts';
import type { ColumnInfo } from '../session/result.ts';
import { SOURCE } from './query.ts';

type Decode = (text: string) => JsonValue;

/** What is selected in the place of a column, and how its text is read. */
interface Substitute {
  readonly sql: (name: string) => string;
  readonly decode: Decode;
}

interface Known {
  readonly type: RecordType;
  readonly decode: Decode;
  /** Where the text of the server would lose something. */
  readonly exact?: Substitute;
  /** Where Arrow would have other values than the text of the server. */
  readonly inArrow?: Substitute;
}

export interface ResultColumn extends Known {
  readonly name: string;
  /** As in a statement: `DECIMAL(10,2)`. */
  readonly typeName: string;
  readonly field: RecordField;
}

export function resultColumns(columns: readonly ColumnInfo[]): readonly ResultColumn[] {
  return columns.map((column) => {
    const known = knownType(column);
    const { name, text } = column;
    // The API does not say whether a column may be null.
    return { ...known, name, typeName: text, field: { name, type: known.type, nullable: true } };
  });
}

export function schemaOf(columns: readonly ResultColumn[]): RecordSchema {
  return { fields: columns.map(({ field }) => field) };
}

/** The columns with values that keep all digits; `undefined` where those of the server do. */
export function exactList(columns: readonly ResultColumn[]): string | undefined {
  return listWith(columns, ({ exact }) => exact);
}

/** The columns of a result in Arrow; `undefined` where they are those of the statement. */
export function arrowList(columns: readonly ResultColumn[]): string | undefined {
  return listWith(columns, ({ inArrow }) => inArrow);
}

function listWith(
  columns: readonly ResultColumn[],
  substituteOf: (column: ResultColumn) => Substitute | undefined,
): string | undefined {
  if (columns.every((column) => substituteOf(column) === undefined)) return undefined;
  return columns
    .map((column) => {
      const name = backticked(column.name);
      const substitute = substituteOf(column);
      const own = `${SOURCE}.${name}`;
      return substitute === undefined ? own : `${substitute.sql(own)} AS ${name}`;
    })
    .join(', ');
}

/** The columns of a result whose statement has that list. */
export function asExact(columns: readonly ResultColumn[]): readonly ResultColumn[] {
  return columns.map((column) => ({ ...column, decode: column.exact?.decode ?? column.decode }));
}

function knownType({ name, type, precision, scale }: ColumnInfo): Known {
  switch (type) {
    case 'BOOLEAN':
      return { type: { kind: 'bool' }, decode: (value) => value.toLowerCase() === 'true' };
    case 'BYTE':
    case 'TINYINT':
      return { type: { kind: 'int8' }, decode: integer };
    case 'SHORT':
    case 'SMALLINT':
      return { type: { kind: 'int16' }, decode: integer };
    case 'INT':
    case 'INTEGER':
      return { type: { kind: 'int32' }, decode: integer };
    case 'LONG':
    case 'BIGINT':
      return { type: { kind: 'int64' }, decode: integer };
    case 'FLOAT':
      return { type: { kind: 'float32' }, decode: float };
    case 'DOUBLE':
      return { type: { kind: 'float64' }, decode: float };
    case 'DECIMAL':
      return {
        type: {
          kind: 'decimal',
          ...(precision === undefined ? {} : { precision }),
          ...(scale === undefined ? {} : { scale }),
        },
        decode: plain,
      };
    case 'DATE':
      return { type: { kind: 'date' }, decode: day };
    case 'TIMESTAMP':
      return {
        type: { kind: 'timestamp', unit: 'us', zone: 'UTC' },
        decode: instant,
        exact: {
          sql: (column) => `CAST(unix_micros(${column}) AS STRING)`,
          decode: (micros) => instantText(BigInt(micros)),
        },
      };
    case 'TIMESTAMP_NTZ':
      return {
        type: { kind: 'timestamp', unit: 'us' },
        decode: clock,
        exact: { sql: (column) => `CAST(${column} AS STRING)`, decode: clock },
      };
    case 'BINARY':
      return {
        type: { kind: 'binary' },
        decode: () => {
          throw new ConnectorError(
            'data',
            `the column \`${name}\` holds bytes, which no text holds`,
            {
              hint: 'select `base64(…)` of it',
            },
          );
        },
        exact: {
          sql: (column) => `hex(${column})`,
          decode: (value) => Buffer.from(value, 'hex').toString('base64'),
        },
      };
    case 'ARRAY':
    case 'STRUCT':
    case 'MAP':
      return documentType(name, (column) => `to_json(${column}, map('ignoreNullFields', 'false'))`);
    case 'VARIANT':
      return documentType(name, (column) => `to_json(${column})`);
    case 'STRING':
    case 'VARCHAR':
    case 'CHAR':
      return { type: { kind: 'utf8' }, decode: plain };
    default:
      return {
        type: { kind: 'utf8' },
        decode: plain,
        inArrow: { sql: (column) => `CAST(${column} AS STRING)`, decode: plain },
      };
  }
}

function documentType(name: string, sql: Substitute['sql']): Known {
  const decode = jsonDecoder({ column: name, bigNumbers: 'string', isRespelled: () => false });
  return { type: { kind: 'json' }, decode, inArrow: { sql, decode } };
}

function plain(text: string): string {
  return text;
}

const ISO_DAY = 10;

function day(text: string): string {
  return /^\d{4}-\d\d-\d\d/.test(text) ? text.slice(0, ISO_DAY) : text;
}

const MOMENT = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(?:Z|[+-]00:?00)?)?$/i;

/** The wall clock of a text, without zeros behind its digits. */
function clock(text: string): string {
  const [match, date = '', minutes = '00:00', seconds = ':00', fraction = ''] =
    MOMENT.exec(text) ?? [];
  if (match === undefined) return text;
  return `${date}T${minutes}${seconds}${fraction.replace(/\.?0+$/, '')}`;
}

const WITH_OFFSET = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?([+-]\d\d):?(\d\d)$/;

/** A text without an offset is one of UTC. */
function instant(text: string): string {
  const [match, date = '', time = '', fraction = '', hours = '', minutes = ''] =
    WITH_OFFSET.exec(text) ?? [];
  if (match === undefined || /^[+-]00$/.test(hours)) {
    const read = clock(text);
    return read === text && !MOMENT.test(text) ? text : `${read}Z`;
  }
  const moment = new Date(`${date}T${time}${hours}:${minutes}`);
  const digits = fraction.replace(/\.?0+$/, '');
  return `${moment.toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)}${digits}Z`;
}
