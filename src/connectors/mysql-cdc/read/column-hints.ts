/**
 * What the log does not say of a column, and the server says of the table as it is now: it is asked as
 * the source `mysql` asks, so that a row has the same values in both.
 */
import type { Connection, PrepareStatementInfo } from 'mysql2';
import { backticked } from '../../../lib/sql/mysql-address.ts';
import type { RecordField } from '../../../kit/record-schema.ts';
import { columnOf, type ColumnInfo } from '../../_mysql/result-types.ts';
import type { TableName } from './table-map.ts';

export interface ColumnHint {
  /** `tinyint(1)`, the boolean of this system. */
  readonly isTruth: boolean;
  /** Text that is JSON (MariaDB). */
  readonly isJson: boolean;
  /** Zeros are shown in front of it. */
  readonly isFilled: boolean;
  /** Types that MariaDB logs as bytes: `uuid`, `inet4`, `inet6`. */
  readonly extended: string | undefined;
  /** As records of the source `mysql` have it. */
  readonly field: RecordField;
}

export type ColumnHints = ReadonlyMap<string, ColumnHint>;

const ZEROFILL = 64;

export async function askHints(
  connection: Connection,
  { schema, table }: TableName,
): Promise<ColumnHints> {
  const sql = `SELECT * FROM ${backticked(schema)}.${backticked(table)}`;
  const infos = await new Promise<readonly ColumnInfo[]>((resolve, reject) => {
    connection.prepare(sql, (error, statement) => {
      if (error !== null) return reject(error);
      statement.close();
      resolve((statement as PrepareStatementInfo & { columns: ColumnInfo[] }).columns);
    });
  });
  return new Map(infos.map((info) => [info.name, hintOf(info)]));
}

function hintOf(info: ColumnInfo): ColumnHint {
  const { field, value } = columnOf(info, 'string');
  return {
    isTruth: value === 'truth',
    isJson: field.type.kind === 'json',
    isFilled: (info.flags & ZEROFILL) !== 0,
    extended: info.extendedTypeName,
    field,
  };
}
