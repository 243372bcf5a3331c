/**
 * Results in the format of Arrow: each chunk is a stream of record batches, whose columns become the
 * same values as those of a result in JSON.
 */
import type { RecordBatch, Vector } from 'apache-arrow';
import { ConnectorError } from '../../../lib/errors.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { batchesIn, type Arrow } from '../../_arrow/batches.ts';
import { cellOf } from '../../_arrow/cells.ts';
import { linkedRows, type ResultFormat } from '../session/result-format.ts';
import type { ResultColumn } from './types.ts';

export interface ArrowRow {
  readonly record: JsonObject;
  /** Its share of the batch. */
  readonly bytes: number;
}

/** Rows of a result with these columns. */
export function arrowRows(
  arrow: Arrow,
  columns: () => readonly ResultColumn[],
): ResultFormat<ArrowRow> {
  return linkedRows('ARROW_STREAM', (bytes, what) =>
    batchesIn(arrow, bytes, { what, otherwise: 'set `arrow_native: false`' }).flatMap((batch) =>
      rowsOf(arrow, batch, columns()),
    ),
  );
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
  const cell = data === undefined ? undefined : cellOf(arrow, data);
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
