/** The values of partition columns, which the log has as texts. */
import { ConnectorError } from '../../../lib/errors.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { dateText, daysOf, nanosOfTimestamp, timestampText } from '../../../lib/time/iso-text.ts';
import {
  decimalText,
  floatNumber,
  unscaledOf,
  wholeNumber,
} from '../../_files/parquet/exact-values.ts';
import { deltaText, type DeltaField, type DeltaType } from './delta-types.ts';

const WHOLE = /^[+-]?\d+$/;
const INTEGERS: ReadonlySet<string> = new Set(['long', 'integer', 'short', 'byte']);
/** As programs in Rust write bytes: each by its number. */
const ESCAPED = /^(?:\\u[0-9A-Fa-f]{4})+$/;

/** An empty text is null, whatever the type. */
export function readPartitionValue(
  text: string | null | undefined,
  { name, type }: DeltaField,
  where: string,
): JsonValue {
  if (text === null || text === undefined || text === '') return null;
  const value = type.is === 'decimal' ? decimal(text, type.scale) : primitive(text, type);
  if (value !== undefined) return value;
  throw new ConnectorError(
    'data',
    `${where} has a value in the partition column ${JSON.stringify(name)} that is no ${deltaText(type)}`,
    { hint: 'check the table with another reader of Delta' },
  );
}

function decimal(text: string, scale: number): string | undefined {
  const unscaled = unscaledOf(text, scale);
  return unscaled === undefined ? undefined : decimalText(unscaled, scale);
}

function primitive(text: string, type: DeltaType): JsonValue | undefined {
  if (type.is !== 'primitive') return undefined;
  if (INTEGERS.has(type.name)) return WHOLE.test(text) ? wholeNumber(BigInt(text)) : undefined;
  switch (type.name) {
    case 'string':
    case 'date':
      return text;
    case 'boolean':
      return /^true$/i.test(text) ? true : /^false$/i.test(text) ? false : undefined;
    case 'float':
    case 'double':
      return floatIn(text);
    case 'timestamp':
    case 'timestamp_ntz': {
      const nanos = nanosOfTimestamp(text);
      return nanos === undefined ? undefined : timestampText(nanos, type.name === 'timestamp');
    }
    case 'binary':
      return bytesIn(text).toString('base64');
    default:
      return undefined;
  }
}

function floatIn(text: string): JsonValue | undefined {
  const value = Number(text);
  if (Number.isNaN(value) && text !== 'NaN') return undefined;
  return floatNumber(value);
}

function bytesIn(text: string): Buffer {
  if (!ESCAPED.test(text)) return Buffer.from(text, 'utf8');
  return Buffer.from(text.replaceAll(/\\u00/g, ''), 'hex');
}

/** The types that a new table may be partitioned by. */
export function canPartition(type: DeltaType): boolean {
  return type.is === 'decimal' || (type.is === 'primitive' && type.name !== 'binary');
}

/** The text of a value that its column can hold. */
export function partitionText(value: JsonValue, { name, type }: DeltaField): string | null {
  if (value === null) return null;
  const text = jsonText(value);
  if (text === '')
    throw new ConnectorError(
      'data',
      `the field ${JSON.stringify(name)} is empty text, which a partition column cannot hold`,
      { hint: 'tables of Delta read it as null; write null instead, e.g. with a transform' },
    );
  if (type.is === 'decimal') return decimal(text, type.scale) ?? text;
  if (type.is !== 'primitive') return text;
  if (type.name === 'timestamp' || type.name === 'timestamp_ntz')
    return momentText(text, type.name);
  return type.name === 'date' ? dayText(text) : text;
}

/** Years before Christ as ISO 8601 counts them, which other readers know. */
function dayText(text: string): string {
  const days = daysOf(text);
  return days === undefined ? text : dateText(days);
}

/** Instants as ISO 8601 in UTC; wall clocks with a blank and no zone. */
function momentText(text: string, type: 'timestamp' | 'timestamp_ntz'): string {
  const nanos = nanosOfTimestamp(text);
  if (nanos === undefined) return text;
  const [day = '', rest = ''] = timestampText(nanos, false).split('T');
  const [clock = '', fraction = ''] = rest.split('.');
  const moment = `${clock}${fraction === '' ? '' : `.${fraction.padEnd(6, '0')}`}`;
  return type === 'timestamp' ? `${day}T${moment}Z` : `${day} ${moment}`;
}
