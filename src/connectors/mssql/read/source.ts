import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import type { ReadRequest, ResultShape, Source } from '../../../kit/source.ts';
import { readBookmark } from '../../../kit/stored-bookmark.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import { untilAborted } from '../../../lib/sql/until-aborted.ts';
import { Link } from '../../_mssql/connection.ts';
import { mssqlError } from '../../_mssql/errors.ts';
import type { ResultColumn } from '../../_mssql/result-types.ts';
import { checkResultColumns } from '../../_sql/result-columns.ts';
import { pagesOfRows } from '../../_sql/row-pages.ts';
import type { MssqlSourceConfig } from '../config.ts';
import { compileQuery, withoutRows, type Statement } from './query.ts';

export async function openMssqlSource(
  config: MssqlSourceConfig,
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
  config: MssqlSourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const link = await openLink(config, context);
  try {
    const { columns } = await statementOf({ link, config, context, request: {} }, true);
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

function openLink(config: MssqlSourceConfig, { signal }: SourceContext): Promise<Link> {
  return Link.open(config, { signal, timeoutSecs: config.statement_timeout_secs });
}

interface Reading {
  readonly link: Link;
  readonly config: MssqlSourceConfig;
  readonly context: SourceContext;
  readonly request: Pick<ReadRequest, 'bookmark' | 'limit'>;
}

async function* readPages(reading: Reading): AsyncGenerator<Page, void> {
  const { link, config, context, request } = reading;
  const { sql, parameters } = await statementOf(reading, false);
  const running = link.start(sql, parameters);
  const columns = await asked(reading, running.columns);
  checkResultColumns(columns.map(({ name }) => name));
  yield* pagesOfRows({
    config,
    context,
    request,
    fields: columns.map(({ field }) => field),
    next: () => asked(reading, running.next()),
    comparable: inOneCase,
  });
}

/** Settles as the work does, but for the stop of the run, which ends the statement too. */
async function asked<T>({ link, context: { signal } }: Reading, work: Promise<T>): Promise<T> {
  try {
    return await untilAborted(work, { signal, cancel: () => link.cancel() });
  } catch (error) {
    throw signal.aborted ? error : mssqlError(error, 'the query failed');
  }
}

interface Described extends Statement {
  readonly columns: readonly ResultColumn[];
}

/** The statement, and its columns where they have to be known before it. */
async function statementOf(reading: Reading, describes: boolean): Promise<Described> {
  const { config, context, request } = reading;
  const { query, params, replication } = config;
  const input = { query, params, context };
  if (replication.type === 'full') {
    const statement = compileQuery(input);
    return { ...statement, columns: describes ? await columnsOf(reading, statement) : [] };
  }
  const { column, initial_value: initial } = replication;
  const start = { column, initial, bookmark: readBookmark(request.bookmark) };
  // The type of the column decides how the start is compared with it.
  const columns = await columnsOf(reading, compileQuery({ ...input, start: NO_START(column) }));
  const found = columns.find(({ name }) => inOneCase(name) === inOneCase(column));
  if (found === undefined)
    throw new ConnectorError('missing', `the query gives no column \`${column}\``, {
      hint: `it gives: ${columns.map(({ name }) => name).join(', ')}`,
    });
  const type = found.field.native?.name;
  return { ...compileQuery({ ...input, start: { ...start, column: found.name, type } }), columns };
}

const NO_START = (column: string) => ({ column, initial: null, bookmark: undefined });

async function columnsOf(reading: Reading, statement: Statement): Promise<readonly ResultColumn[]> {
  const { sql, parameters } = withoutRows(statement);
  const running = reading.link.start(sql, parameters);
  const columns = await asked(reading, running.columns);
  while ((await asked(reading, running.next())) !== undefined);
  checkResultColumns(columns.map(({ name }) => name));
  return columns;
}
