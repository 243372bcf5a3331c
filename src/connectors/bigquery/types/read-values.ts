/** Cells of a result as values of records. */
import { ConnectorError } from '../../../lib/errors.ts';
import {
  isObject,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { document, float, wholeNumber } from '../../_google/cells.ts';
import { instantText } from '../../_sql/micros.ts';
import type { TableField } from './fields.ts';
import { isoInterval } from './intervals.ts';

type Read = (value: JsonValue) => JsonValue;

/** Reads a row, which has `{f: [{v}, …]}` in the order of the fields. */
export function rowReader(fields: readonly TableField[]): (row: JsonValue) => JsonObject {
  const readers = fields.map((field) => ({ name: field.name, read: readerOf(field) }));
  return (row) => {
    const { f: cells } = isObject(row) ? row : {};
    if (!Array.isArray(cells) || cells.length !== readers.length)
      throw new ConnectorError(
        'data',
        'a row of the result does not have the columns of the result',
      );
    const record: JsonObject = {};
    for (const [at, { name, read }] of readers.entries())
      setField(record, name, read(cellOf(cells[at])));
    return record;
  };
}

function cellOf(cell: JsonValue | undefined): JsonValue {
  return isObject(cell) ? (cell['v'] ?? null) : null;
}

function readerOf(field: TableField): Read {
  const read = itemReader(field);
  if (field.isRepeated)
    return (value) => (Array.isArray(value) ? value.map((item) => orNull(cellOf(item), read)) : []);
  return (value) => orNull(value, read);
}

function orNull(value: JsonValue, read: Read): JsonValue {
  return value === null ? null : read(value);
}

function itemReader(field: TableField): Read {
  switch (field.type) {
    case 'INT64':
      return wholeNumber;
    case 'FLOAT64':
      return float;
    case 'BOOL':
      return (value) => jsonText(value) === 'true';
    case 'TIMESTAMP':
      return (value) => instant(jsonText(value));
    case 'DATETIME':
    case 'TIME':
      return (value) => withoutZeros(jsonText(value));
    case 'INTERVAL':
      return (value) => isoInterval(jsonText(value));
    case 'JSON':
      return document;
    case 'STRUCT':
      return rowReader(field.fields);
    case 'RANGE':
      return (value) => rangeText(jsonText(value), field.element);
    default:
      return jsonText;
  }
}

/** Microseconds since 1970. */
function instant(text: string): string {
  if (!/^-?\d+$/.test(text))
    throw new ConnectorError('data', `${text} is no TIMESTAMP of BigQuery`);
  return instantText(BigInt(text));
}

/** A number, or a time, without zeros behind its digits. */
export function withoutZeros(text: string): string {
  return text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

function rangeText(text: string, element: string | undefined): string {
  if (element === 'TIMESTAMP') return text.replaceAll(/-?\d+/g, (micros) => instant(micros));
  return text.replaceAll(/\.\d+/g, (fraction) => withoutZeros(fraction));
}

/** The only column of a row, which is a text. */
export function firstText(row: JsonValue): string {
  const { f: cells } = isObject(row) ? row : {};
  return jsonText(cellOf(Array.isArray(cells) ? cells[0] : undefined));
}
