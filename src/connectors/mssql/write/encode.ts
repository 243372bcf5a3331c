/**
 * Values as texts that the server converts to the type of their column. What the server would
 * convert to another value without a word (an empty text to zero, a date by the language of the
 * login) is refused here.
 */
import { ConnectorError } from '../../../lib/errors.ts';
import { isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { isBase64 } from '../../../kit/typed-values.ts';
import { isNumberText, numberText, withoutExponent } from '../../_sql/value-texts.ts';
import type { TableColumn } from './schema.ts';

export type Encoded = string | Buffer | null;

export interface Encoder {
  readonly column: TableColumn;
  readonly isBytes: boolean;
  readonly encode: (value: JsonValue) => Encoded;
  /** The expression of the value in the type of the column, from one for the text. */
  readonly sql: (text: string) => string;
}

export function encoderOf(column: TableColumn, { finished = false, isKey = false } = {}): Encoder {
  const { type, sqlType } = column;
  const cast = (text: string): string => `CAST(${text} AS ${sqlType})`;
  const not = (what: string): ConnectorError =>
    new ConnectorError('data', `a value of \`${column.name}\` (${sqlType}) is not ${what}`, {
      hint: 'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
    });
  const made = (encode: (text: string, value: JsonValue) => Encoded, sql = cast): Encoder => ({
    column,
    isBytes: false,
    sql,
    encode(value) {
      const text = plainText(value);
      return text === null ? null : encode(text, value);
    },
  });
  switch (type) {
    case 'bit':
      return made((text) => truthText(text) ?? fail(not('true or false')));
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'bigint':
    case 'decimal':
    case 'numeric':
      return made((text, value) => digitsOf(text, value) ?? fail(not('a number')));
    case 'money':
    case 'smallmoney':
      return made(
        (text, value) => digitsOf(text, value) ?? fail(not('a number')),
        // The server reads a comma inside of money.
        (text) => `CAST(CAST(${text} AS decimal(38,6)) AS ${sqlType})`,
      );
    case 'float':
    case 'real':
      return made((text, value) => floatText(text, value) ?? fail(not('a number')));
    case 'date':
      return made((text) => dayOf(text) ?? fail(not('a date, such as 2024-05-06')));
    case 'time':
      return made((text) => clockOf(text) ?? fail(not('a time, such as 07:08:09')));
    case 'datetime':
    case 'smalldatetime':
      return made(
        (text) => momentOf(text) ?? fail(not('a time, such as 2024-05-06T07:08:09')),
        // These types take fewer digits than texts may have.
        (text) => `CAST(CAST(${text} AS datetime2(7)) AS ${sqlType})`,
      );
    case 'datetime2':
      return made((text) => momentOf(text) ?? fail(not('a time, such as 2024-05-06T07:08:09')));
    case 'datetimeoffset':
      return made((text) => instantOf(text) ?? fail(not('a time, such as 2024-05-06T07:08:09Z')));
    case 'uniqueidentifier':
      return made((text) => (UUID.test(text) ? text : fail(not('a UUID'))));
    case 'binary':
    case 'varbinary':
    case 'image':
      return {
        ...made((text) => (isBase64(text) ? Buffer.from(text, 'base64') : fail(not('base64')))),
        isBytes: true,
        sql: isKey ? cast : (text) => text,
      };
    case 'xml':
    case 'sql_variant':
      return made(
        (text) => text,
        (text) => (type === 'xml' ? cast(text) : `CAST(${text} AS nvarchar(4000))`),
      );
    default:
      return finished || !isKey ? made(asIs, asIs) : keyText(column, made, not);
  }
}

/** Keys are compared as their column compares them. */
function keyText(
  column: TableColumn,
  made: (encode: (text: string) => Encoded, sql: (text: string) => string) => Encoder,
  not: (what: string) => ConnectorError,
): Encoder {
  const { sqlType, length, collation } = column;
  const collated = (text: string): string =>
    collation === undefined ? text : `${text} COLLATE ${collation}`;
  return made(
    // CAST would cut a longer key, which could be the key of another row.
    (text) => (length === -1 || sizeOf(text, column) <= length ? text : fail(not('short enough'))),
    (text) => `CAST(${collated(text)} AS ${sqlType})`,
  );
}

const UTF8 = 65_001;

function sizeOf(text: string, { type, codePage }: TableColumn): number {
  if (type.startsWith('n')) return text.length;
  return codePage === UTF8 ? Buffer.byteLength(text) : text.length;
}

function fail(error: ConnectorError): never {
  throw error;
}

function asIs(text: string): string {
  return text;
}

function plainText(value: JsonValue): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'object')
    return isLiteral(value) ? plainText(literalValue(value)) : stringifyJson(value);
  return Object.is(value, -0) ? '-0' : String(value);
}

function truthText(text: string): string | undefined {
  if (/^(?:true|1)$/i.test(text)) return '1';
  return /^(?:false|0)$/i.test(text) ? '0' : undefined;
}

/** A number without a power of ten. */
function digitsOf(text: string, value: JsonValue): string | undefined {
  if (/^(?:true|false)$/i.test(text)) return truthText(text);
  const digits = typeof value === 'number' ? numberText(value) : text.trim().replace(/^\+/, '');
  if (!isNumberText(digits)) return undefined;
  return /e/i.test(digits) ? withoutExponent(digits) : digits;
}

function floatText(text: string, value: JsonValue): string | undefined {
  if (/^(?:true|false)$/i.test(text)) return truthText(text);
  if (typeof value === 'number') return text;
  const digits = text.trim();
  return isNumberText(digits) ? digits : undefined;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const CLOCK = /^(\d{2}:\d{2}(?::\d{2})?)(?:\.(\d+))?$/;
const MOMENT =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d+))?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
/** More digits of a second have no type. */
const MOST_FRACTION = 7;

function dayOf(text: string): string | undefined {
  return MOMENT.exec(text.trim())?.[1];
}

function clockOf(text: string): string | undefined {
  const [match, clock = '', fraction] = CLOCK.exec(text.trim()) ?? [];
  return match === undefined ? undefined : clock + fractionText(fraction);
}

function fractionText(fraction: string | undefined): string {
  return fraction === undefined ? '' : `.${fraction.slice(0, MOST_FRACTION)}`;
}

/** A wall clock; instants are those of UTC. */
function momentOf(text: string): string | undefined {
  const [match, day = '', clock = '00:00:00', fraction, zone] = MOMENT.exec(text.trim()) ?? [];
  if (match === undefined) return undefined;
  const parts = fractionText(fraction);
  if (zone === undefined || /^(?:z|[+-]00(?::?00)?)$/i.test(zone))
    return `${day}T${whole(clock)}${parts}`;
  const moment = new Date(`${day}T${clock}${offsetOf(zone)}`);
  if (Number.isNaN(moment.getTime())) return undefined;
  return `${moment.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}${parts}`;
}

function instantOf(text: string): string | undefined {
  const [match, day = '', clock = '00:00:00', fraction, zone = 'Z'] =
    MOMENT.exec(text.trim()) ?? [];
  if (match === undefined) return undefined;
  const offset = /^z$/i.test(zone) ? '+00:00' : offsetOf(zone);
  return `${day}T${whole(clock)}${fractionText(fraction)}${offset}`;
}

function whole(clock: string): string {
  return clock.length === 'HH:MM'.length ? `${clock}:00` : clock;
}

function offsetOf(zone: string): string {
  const digits = zone.replace(':', '').padEnd('+HHMM'.length, '0');
  return `${digits.slice(0, 3)}:${digits.slice(3)}`;
}
