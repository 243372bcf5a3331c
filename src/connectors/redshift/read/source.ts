/** Reads through a cursor: the database has no COPY to its client. */
import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import type { ReadRequest, ResultShape, Source } from '../../../kit/source.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { refuseEqualNames } from '../../_sql/equal-names.ts';
import { openConnection, CURSOR, type Connection } from '../../_postgres/connection.ts';
import { cursorPages } from '../../_postgres/cursor-pages.ts';
import { statementOf } from '../../_postgres/query.ts';
import { connectionUrl } from '../address.ts';
import type { RedshiftSourceConfig } from '../config.ts';
import { withValues } from './statement.ts';
import { decoderFor, typeName, typesOf } from './types.ts';

/** Longest wait for the next rows. */
/** A cluster of one node gives no more. */
const MOST_FETCHED = 1000;

export async function openRedshiftSource(
  config: RedshiftSourceConfig,
  context: SourceContext,
): Promise<Source> {
  const connection = await connect(config, context);
  return {
    pages: (request) => readPages(connection, { config, context, request }),
    close: () => connection.close(),
  };
}

/** The columns of the result, without reading it. */
export async function describeResult(
  config: RedshiftSourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const connection = await connect(config, context);
  try {
    const sql = withValues(statementOf(config, context, {}));
    const { fields } = await connection.ask(() =>
      connection.client.query({ text: `SELECT * FROM (\n${sql}\n) AS svc_shape LIMIT 0` }),
    );
    refuseEqualNames(fields.map(({ name }) => name));
    const { schema } = typesOf(fields);
    return {
      columns: fields.map((column, at) => {
        const field = schema.fields[at];
        const holds = field === undefined ? undefined : holdsFor(field.type);
        return {
          name: column.name,
          type: typeName(column),
          ...(field === undefined ? {} : { field }),
          ...(holds === undefined ? {} : { holds }),
        };
      }),
    };
  } finally {
    await connection.close();
  }
}

function connect(config: RedshiftSourceConfig, { signal }: SourceContext): Promise<Connection> {
  return openConnection({
    url: connectionUrl(config),
    timeoutSecs: config.read_timeout_secs,
    signal,
  });
}

interface Reading {
  readonly config: RedshiftSourceConfig;
  readonly context: SourceContext;
  readonly request: ReadRequest;
}

async function* readPages(
  connection: Connection,
  { config, context, request }: Reading,
): AsyncGenerator<Page, void> {
  const sql = withValues(statementOf(config, context, request));
  await connection.ask(async () => {
    // Two digits more than usual tell all doubles apart.
    await connection.client.query(`BEGIN; SET timezone TO 'UTC'; SET datestyle TO 'ISO, YMD';
      SET extra_float_digits TO 2; SET statement_timeout TO ${config.read_timeout_secs * 1000}`);
    await connection.client.query(`DECLARE ${CURSOR} CURSOR FOR ${sql}`);
  });
  yield* cursorPages({
    connection,
    config,
    context,
    request,
    mostFetched: MOST_FETCHED,
    typesOf: (fields) => Promise.resolve(typesOf(fields)),
    decoderFor,
  });
}
