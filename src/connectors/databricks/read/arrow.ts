/**
 * Results in the format of Arrow: each chunk is a stream of record batches, whose columns become the
 * same values as those of a result in JSON.
 */
import type { Data, RecordBatch, Vector } from 'apache-arrow';
import { ConnectorError } from '../../../lib/errors.ts';
import { loadClient } from '../../../lib/load-client.ts';
import { setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { shortestFloat } from '../../../lib/text/shortest-float.ts';
import { decimalText, floatNumber, wholeNumber } from '../../_files/parquet/exact-values.ts';
import { linkedRows, type ResultFormat } from '../session/result-format.ts';
import { instantText, wallClockText, type ResultColumn } from './types.ts';

type Arrow = typeof import('apache-arrow');
/** The value of a row, which is not null there. */
type Cell = (row: number) => JsonValue;

export interface ArrowRow {
  readonly record: JsonObject;
  /** Its share of the batch. */
  readonly bytes: number;
}

export function loadArrow(): Promise<Arrow> {
  return loadClient('apache-arrow', () => import('apache-arrow'));
}

/** Rows of a result with these columns. */
export function arrowRows(
  arrow: Arrow,
  columns: () => readonly ResultColumn[],
): ResultFormat<ArrowRow> {
  return linkedRows('ARROW_STREAM', (bytes, what) =>
    batchesIn(arrow, bytes, what).flatMap((batch) => rowsOf(arrow, batch, columns())),
  );
}

function batchesIn(arrow: Arrow, bytes: Uint8Array, what: string): readonly RecordBatch[] {
  try {
    return arrow.tableFromIPC(bytes).batches;
  } catch (error) {
    throw new ConnectorError('data', `${what} is no stream of Arrow`, {
      hint: 'run it again, or set `arrow_native: false`',
      cause: error,
    });
  }
}

function rowsOf(
  arrow: Arrow,
  batch: RecordBatch,
  columns: readonly ResultColumn[],
): readonly ArrowRow[] {
  const { numRows } = batch;
  if (batch.schema.fields.length !== columns.length)
    throw new ConnectorError(
      'data',
      `the server gives ${batch.schema.fields.length} columns of Arrow where it told of ${columns.length}`,
    );
  const records = Array.from({ length: numRows }, (): JsonObject => ({}));
  for (const [at, column] of columns.entries()) fill(arrow, batch.getChildAt(at), records, column);
  const bytes = Math.ceil(batch.data.byteLength / Math.max(1, numRows));
  return records.map((record) => ({ record, bytes }));
}

function fill(
  arrow: Arrow,
  vector: Vector | null,
  records: readonly JsonObject[],
  { name, typeName, inArrow }: ResultColumn,
): void {
  const [data] = vector?.data ?? [];
  const cell = vector === null || data === undefined ? undefined : cellOf(arrow, vector, data);
  if (data === undefined || cell === undefined)
    throw new ConnectorError(
      'data',
      `the column \`${name}\` (${typeName}) comes as ${String(vector?.type)}, which is not read`,
      { hint: 'set `arrow_native: false`, or select a text of it' },
    );
  for (const [row, record] of records.entries()) {
    const value = data.getValid(row) ? cell(row) : null;
    const isText = inArrow !== undefined && typeof value === 'string';
    setField(record, name, isText ? inArrow.decode(value) : value);
  }
}

/** Integers and times are taken as they are stored: the library rounds some of them. */
function cellOf(
  { DataType, DateUnit, Precision }: Arrow,
  vector: Vector,
  data: Data,
): Cell | undefined {
  const { type } = data;
  if (DataType.isNull(type)) return () => null;
  if (DataType.isBool(type)) return (row) => vector.get(row) as boolean;
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return (row) => String(vector.get(row));
  if (DataType.isBinary(type) || DataType.isLargeBinary(type))
    return (row) => Buffer.from(vector.get(row) as Uint8Array).toString('base64');
  if (DataType.isInt(type)) {
    const stored = data.values as ArrayLike<number | bigint>;
    return (row) => wholeNumber(BigInt(stored[row] ?? 0));
  }
  if (DataType.isFloat(type)) {
    const isShort = type.precision === Precision.SINGLE;
    return (row) => {
      const value = vector.get(row) as number;
      return isShort && Number.isFinite(value) ? shortestFloat(value) : floatNumber(value);
    };
  }
  if (DataType.isDecimal(type)) {
    const words = data.values as Uint32Array;
    const each = type.bitWidth / WORD_BITS;
    return (row) => decimalText(unscaled(words.subarray(row * each, (row + 1) * each)), type.scale);
  }
  if (DataType.isDate(type)) {
    const ms = type.unit === DateUnit.DAY ? DAY_MS : 1;
    const stored = data.values as ArrayLike<number | bigint>;
    return (row) => new Date(Number(stored[row]) * ms).toISOString().slice(0, 'yyyy-mm-dd'.length);
  }
  if (!DataType.isTimestamp(type)) return undefined;
  const factor = MICROS_OF[type.unit];
  if (factor === undefined) return undefined;
  const text = type.timezone === null || type.timezone === undefined ? wallClockText : instantText;
  const stored = data.values as BigInt64Array;
  return (row) => text((stored[row] ?? 0n) * factor);
}

const DAY_MS = 86_400_000;
const WORD_BITS = 32;

/** Microseconds of seconds, milliseconds and microseconds. */
const MICROS_OF: readonly (bigint | undefined)[] = [1_000_000n, 1000n, 1n];

/** The least significant word first. */
function unscaled(words: Uint32Array): bigint {
  let value = 0n;
  for (let at = words.length - 1; at >= 0; at -= 1)
    value = (value << BigInt(WORD_BITS)) | BigInt(words[at] ?? 0);
  return BigInt.asIntN(words.length * WORD_BITS, value);
}
