/** Changes as records: `{op, schema, table, lsn, txid, ts_ms, before, after}`. */
import { mapFields, type RecordField, type RecordSchema } from '../../../kit/record-schema.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { BinlogPosition } from './position.ts';
import type { TableName } from './table-map.ts';

function fields(tellsSchemas: boolean): RecordField[] {
  return [
    { name: 'op', type: { kind: 'utf8' }, nullable: false },
    { name: 'schema', type: { kind: 'utf8' }, nullable: false },
    { name: 'table', type: { kind: 'utf8' }, nullable: tellsSchemas },
    { name: 'lsn', type: { kind: 'json' }, nullable: false },
    { name: 'txid', type: { kind: 'int64' }, nullable: false },
    { name: 'ts_ms', type: { kind: 'int64' }, nullable: false },
    { name: 'before', type: { kind: 'json' }, nullable: true },
    { name: 'after', type: { kind: 'json' }, nullable: true },
  ];
}

const ROWS_SCHEMA: RecordSchema = Object.freeze({ fields: fields(false) });
const WITH_STATEMENTS: RecordSchema = Object.freeze({
  fields: [...fields(true), { name: 'ddl', type: { kind: 'utf8' as const }, nullable: true }],
});

export function changeSchema(tellsSchemas: boolean): RecordSchema {
  return tellsSchemas ? WITH_STATEMENTS : ROWS_SCHEMA;
}

/** Of changes of one table. */
export function tableSchema(tellsSchemas: boolean, columns: readonly RecordField[]): RecordSchema {
  return mapFields(changeSchema(tellsSchemas), (field) =>
    field.name === 'before' || field.name === 'after' ? { ...field, inside: columns } : field,
  );
}

/** Bytes of the names and punctuation of a record, besides those of its table. */
const ENVELOPE_BYTES = 130;

export function frameBytes({ schema, table }: TableName, names: readonly string[]): number {
  const columns = names.reduce((sum, name) => sum + name.length + 4, 0);
  return ENVELOPE_BYTES + schema.length + table.length + columns;
}

export interface Place {
  /** The end of the event that holds the change. */
  readonly at: BinlogPosition;
  /** Transactions of this read, counted from 0. */
  readonly transaction: number;
  readonly timeMs: number;
}

export interface Change {
  readonly op: 'c' | 'u' | 'd';
  readonly name: TableName;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

export function changeRecord(
  { op, name, before, after }: Change,
  { at, transaction, timeMs }: Place,
): JsonObject {
  return {
    op,
    schema: name.schema,
    table: name.table,
    lsn: { file: at.file, pos: at.pos },
    txid: transaction,
    ts_ms: timeMs,
    before,
    after,
  };
}

export interface SchemaChange {
  readonly schema: string;
  /** `null` where it is not a table that changes. */
  readonly table: string | null;
  readonly sql: string;
}

export function schemaRecord(
  { schema, table, sql }: SchemaChange,
  { at, transaction, timeMs }: Place,
): JsonObject {
  return {
    op: 'ddl',
    schema,
    table,
    lsn: { file: at.file, pos: at.pos },
    txid: transaction,
    ts_ms: timeMs,
    before: null,
    after: null,
    ddl: sql,
  };
}
