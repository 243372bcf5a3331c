import type { SourceContext } from '../../../kit/context.ts';
import type { ResultColumn, ResultShape } from '../../../kit/source.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import type { MysqlSourceConfig } from '../config.ts';
import type { MysqlColumn } from '../../_mysql/result-types.ts';
import { compileQuery } from './query.ts';
import { openReader } from './reader.ts';

/** Describes the columns of the result without reading it. */
export async function describeResult(
  config: MysqlSourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const reader = await openReader({
    url: config.connection_url,
    signal: context.signal,
    timeoutSecs: config.read_timeout_secs,
    bigNumbers: config.json_big_numbers,
  });
  try {
    const { query, params, replication } = config;
    const start =
      replication.type === 'incremental'
        ? { column: replication.column, initial: replication.initial_value, bookmark: undefined }
        : undefined;
    const input = { query, params, records: context.records, incremental: start };
    const columns = await reader.columnsOf(compileQuery(input));
    return { columns: columns.map(resultColumn) };
  } finally {
    await reader.close();
  }
}

function resultColumn({ name, field }: MysqlColumn): ResultColumn {
  const holds = holdsFor(field.type);
  return {
    name,
    field,
    type: field.native?.name ?? field.type.kind,
    ...(holds === undefined ? {} : { holds }),
  };
}
