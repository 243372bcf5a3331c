import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import type { ReadRequest, ResultShape, Source } from '../../../kit/source.ts';
import { readBookmark } from '../../../kit/stored-bookmark.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import { untilAborted } from '../../../lib/sql/until-aborted.ts';
import { checkResultColumns } from '../../_sql/result-columns.ts';
import { pagesOfRows } from '../../_sql/row-pages.ts';
import type { OracleSourceConfig } from '../config.ts';
import { Link } from '../connection.ts';
import { oracleError } from '../errors.ts';
import { compileQuery, type Statement } from './query.ts';
import type { ResultColumn } from './result-types.ts';

export async function openOracleSource(
  config: OracleSourceConfig,
  context: SourceContext,
): Promise<Source> {
  const link = await openLink(config, context);
  return {
    pages: (request) => readPages({ link, config, context, request }),
    close: () => {
      link.close();
      return Promise.resolve();
    },
  };
}

/** The columns of the result, without reading it. */
export async function describeResult(
  config: OracleSourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const link = await openLink(config, context);
  try {
    const columns = await columnsOf({ link, config, context, request: {} });
    return {
      columns: columns.map(({ name, field }) => {
        const holds = holdsFor(field.type);
        const type = field.native?.name ?? field.type.kind;
        return { name, field, type, ...(holds === undefined ? {} : { holds }) };
      }),
    };
  } finally {
    link.close();
  }
}

function openLink(
  config: OracleSourceConfig,
  { signal }: Pick<SourceContext, 'signal'>,
): Promise<Link> {
  const { statement_timeout_secs: timeoutSecs, json_columns: jsonColumns } = config;
  return Link.open(config, { signal, timeoutSecs, jsonColumns });
}

interface Reading {
  readonly link: Link;
  readonly config: OracleSourceConfig;
  readonly context: SourceContext;
  readonly request: Pick<ReadRequest, 'bookmark' | 'limit'>;
}

async function* readPages(reading: Reading): AsyncGenerator<Page, void> {
  const { link, config, context, request } = reading;
  const { sql, values } = await statementOf(reading);
  const running = await asked(reading, link.start(sql, values));
  checkResultColumns(running.columns.map(({ name }) => name));
  yield* pagesOfRows({
    config,
    context,
    request,
    fields: running.columns.map(({ field }) => field),
    next: () => asked(reading, running.next()),
    comparable: inOneCase,
  });
}

/** Settles as the work does, but for the stop of the run, which ends the statement too. */
async function asked<T>({ link, context: { signal } }: Reading, work: Promise<T>): Promise<T> {
  try {
    return await untilAborted(work, { signal, cancel: () => link.cancel() });
  } catch (error) {
    throw signal.aborted ? error : oracleError(error, 'the query failed');
  }
}

async function statementOf(reading: Reading): Promise<Statement> {
  const { config, context, request } = reading;
  const { query, params, replication } = config;
  const input = { query, params, context };
  if (replication.type === 'full') return compileQuery(input);
  const { column, initial_value: initial } = replication;
  // The type of the column decides how the start is compared with it.
  const columns = await columnsOf(reading);
  const found =
    columns.find(({ name }) => name === column) ??
    columns.find(({ name }) => inOneCase(name) === inOneCase(column));
  if (found === undefined)
    throw new ConnectorError('missing', `the query gives no column \`${column}\``, {
      hint: `it gives: ${columns.map(({ name }) => name).join(', ')}`,
    });
  const start = {
    column: found.name,
    type: found.field.native?.name ?? '',
    initial,
    bookmark: readBookmark(request.bookmark),
  };
  return compileQuery({ ...input, start });
}

async function columnsOf(reading: Reading): Promise<readonly ResultColumn[]> {
  const { link, config, context } = reading;
  const { query, params } = config;
  const { sql } = compileQuery({ query, params, context, start: 'unknown' });
  const columns = await asked(reading, link.describe(sql));
  checkResultColumns(columns.map(({ name }) => name));
  return columns;
}
