import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { isFull, pageBounds } from '../../../kit/page-bounds.ts';
import type { ReadRequest, ResultShape, Source } from '../../../kit/source.ts';
import { readBookmark } from '../../../kit/stored-bookmark.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { ALL_TRANSIENT, requestRetry, type RequestRetry } from '../../_http/retry.ts';
import { refuseEqualNames } from '../../_sql/equal-names.ts';
import { createPager } from '../../_sql/pager.ts';
import { resultMarks } from '../../_sql/record-marks.ts';
import type { DatabricksSourceConfig } from '../config.ts';
import { Link, type LinkContext, type Result } from '../session/link.ts';
import type { ResultRow } from '../session/result.ts';
import {
  BOOKMARK_NAME,
  compileQuery,
  fromStart,
  isSelect,
  parameterOf,
  selected,
  withoutRows,
  type Query,
} from './query.ts';
import { loadArrow } from '../../_arrow/batches.ts';
import { arrowRows, type ArrowRow } from './arrow.ts';
import {
  arrowList,
  asExact,
  exactList,
  resultColumns,
  schemaOf,
  type ResultColumn,
} from './types.ts';

const RETRY: RequestRetry = {
  maxRetries: 5,
  backoff: 'exponential',
  baseMs: 1000,
  maxMs: 30_000,
  jitter: true,
  on: ALL_TRANSIENT,
};

export function openSourceLink(
  config: DatabricksSourceConfig,
  context: LinkContext,
): Promise<Link> {
  return Link.open(config, context, {
    pollMs: config.poll_interval_secs * 1000,
    retry: requestRetry(context.retry, RETRY, {}),
  });
}

export async function openDatabricksSource(
  config: DatabricksSourceConfig,
  context: SourceContext,
): Promise<Source> {
  const link = await openSourceLink(config, context);
  return {
    pages: (request) => readPages({ link, config, context, request }),
    close: () => link.close(),
  };
}

/** The columns of the result, without reading it. */
export async function describeResult(
  config: DatabricksSourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const link = await openSourceLink(config, context);
  try {
    const columns = await columnsOf({ link, config, context, request: {} });
    return {
      columns: columns.map(({ name, typeName: type, field }) => {
        const holds = holdsFor(field.type);
        return { name, type, field, ...(holds === undefined ? {} : { holds }) };
      }),
    };
  } finally {
    await link.close();
  }
}

interface Reading {
  readonly link: Link;
  readonly config: DatabricksSourceConfig;
  readonly context: SourceContext;
  readonly request: Pick<ReadRequest, 'bookmark' | 'limit'>;
}

async function* readPages(reading: Reading): AsyncGenerator<Page, void> {
  if (reading.config.arrow_native) yield* pagesOf(reading, await arrowResult(reading));
  else yield* pagesOf(reading, await jsonResult(reading));
}

async function* pagesOf<Row>(reading: Reading, read: Read<Row>): AsyncGenerator<Page, void> {
  const { config, context, request } = reading;
  const { result, columns } = read;
  const schema = schemaOf(columns);
  const bounds = pageBounds(config.batch_size, context.pageBytes);
  const pager = createPager({ bounds, limit: request.limit, schema: () => schema });
  if (pager.done) return;
  const marks = resultMarks(reading, columns);
  let bytes = 0;
  for await (const rows of result.chunks()) {
    for (const row of rows) {
      const record = read.recordOf(row);
      const raw = marks === undefined ? '' : marks.rawOf(record);
      if (marks?.bookmarks.wasRead(raw, () => record) === true) continue;
      // The row after a page shows whether the page ended in the middle of equal values.
      if (isFull(bounds, pager.count, bytes)) {
        yield pager.take(marks?.bookmarks.before(raw));
        context.signal.throwIfAborted();
        bytes = 0;
      }
      marks?.bookmarks.pass(raw, () => record);
      const size = read.bytesOf(row);
      pager.add(record, size);
      bytes += size;
      if (!pager.done) continue;
      yield pager.take(marks?.bookmarks.safe());
      return;
    }
    marks?.bookmarks.settle();
  }
  if (pager.count > 0) yield pager.take(marks?.bookmarks.end());
}

interface Read<Row> {
  readonly result: Result<Row>;
  readonly columns: readonly ResultColumn[];
  recordOf(this: void, row: Row): JsonObject;
  bytesOf(this: void, row: Row): number;
}

/** Not from a bookmark on, which the config sees to. */
async function arrowResult(reading: Reading): Promise<Read<ArrowRow>> {
  const { link, config, context, request } = reading;
  const { sql, parameters } = config;
  const arrow = await loadArrow();
  const query = compileQuery({ sql, parameters, context });
  let columns = isSelect(query.text) ? await columnsOf(reading) : undefined;
  const list = columns && arrowList(columns);
  const text = list === undefined ? query.text : selected(query.text, list);
  const statement = { ...query, text, limit: request.limit, usesLinks: true, isRepeatable: true };
  const format = arrowRows(arrow, () => columns ?? []);
  const result = await link.runAs(statement, format);
  columns ??= namedColumns(result);
  return { result, columns, recordOf: ({ record }) => record, bytesOf: ({ bytes }) => bytes };
}

async function jsonResult(reading: Reading): Promise<Read<ResultRow>> {
  const { result, columns } = await resultOf(reading);
  const frame = columns.reduce((sum, { name }) => sum + name.length + 4, 2);
  return {
    result,
    columns,
    recordOf: (row) => recordOf(columns, row),
    bytesOf: (row) => row.reduce((sum, cell) => sum + (cell?.length ?? 4), frame),
  };
}

async function resultOf(reading: Reading): Promise<Pick<Read<ResultRow>, 'result' | 'columns'>> {
  const { link, config, context, request } = reading;
  const { sql, parameters, replication, external_links: usesLinks } = config;
  const run = (query: Query, limit?: number): Promise<Result> =>
    link.run({ ...query, usesLinks, limit, isRepeatable: true });
  if (replication.type === 'full') {
    const query = compileQuery({ sql, parameters, context });
    // A statement such as SHOW TABLES cannot stand inside another one.
    if (!isSelect(query.text)) {
      const result = await run(query, request.limit);
      return { result, columns: namedColumns(result) };
    }
    const columns = await columnsOf(reading);
    const list = exactList(columns);
    if (list === undefined) return { result: await run(query, request.limit), columns };
    const text = selected(query.text, list);
    return { result: await run({ ...query, text }, request.limit), columns: asExact(columns) };
  }
  const { column, initial_value: initial } = replication;
  const bookmark = readBookmark(request.bookmark);
  const columns = await columnsOf(reading);
  const type = typeOf(columns, column);
  const start = parameterOf(BOOKMARK_NAME, bookmark?.value ?? initial, type);
  const query = compileQuery({ sql, parameters, context, bookmark: start });
  const list = exactList(columns) ?? '*';
  const text = fromStart(query.text, { column, list, bookmark });
  return { result: await run({ ...query, text }), columns: asExact(columns) };
}

function typeOf(columns: readonly ResultColumn[], column: string): string {
  const found = columns.find(({ name }) => name === column);
  if (found === undefined)
    throw new ConnectorError('missing', `the query gives no column \`${column}\``, {
      hint: `it gives: ${columns.map(({ name }) => name).join(', ')}`,
    });
  if (found.type.kind === 'json' || found.type.kind === 'binary')
    throw new ConnectorError(
      'refused',
      `the column \`${column}\` is ${found.typeName}, whose values have no order`,
      { hint: 'name another column in `replication`' },
    );
  return found.typeName;
}

async function columnsOf({ link, config, context }: Reading): Promise<readonly ResultColumn[]> {
  const { sql, parameters, replication } = config;
  const bookmark =
    replication.type === 'full' ? undefined : parameterOf(BOOKMARK_NAME, null, undefined);
  const query = compileQuery({ sql, parameters, context, bookmark });
  const text = isSelect(query.text) ? withoutRows(query.text) : query.text;
  return namedColumns(await link.run({ ...query, text, isRepeatable: true }));
}

function namedColumns({ columns }: Pick<Result, 'columns'>): readonly ResultColumn[] {
  refuseEqualNames(columns.map(({ name }) => name));
  return resultColumns(columns);
}

function recordOf(columns: readonly ResultColumn[], row: ResultRow): JsonObject {
  const record: JsonObject = {};
  for (const [at, { name, decode }] of columns.entries()) {
    const text = row[at] ?? null;
    setField(record, name, text === null ? null : decode(text));
  }
  return record;
}
