import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { isFull, pageBounds } from '../../../kit/page-bounds.ts';
import type { ReadRequest, ResultShape, Source } from '../../../kit/source.ts';
import { readBookmark } from '../../../kit/stored-bookmark.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { refuseEqualNames } from '../../_sql/equal-names.ts';
import { createPager } from '../../_sql/pager.ts';
import { resultMarks } from '../../_sql/record-marks.ts';
import type { ClickhouseSourceConfig } from '../config.ts';
import { Link, type ServerFacts, type Settings } from '../link.ts';
import { columnOf, type ResultColumn } from '../types/read-types.ts';
import { literalFor } from './literals.ts';
import { compileQuery, fromStart, withoutRows, type Start } from './query.ts';
import { rowsOf } from './result.ts';

/** What values look like, where the server and the user let us choose. */
const WANTED: Settings = {
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_denormals: 1,
  output_format_json_quote_decimals: 1,
  output_format_decimal_trailing_zeros: 1,
  output_format_json_named_tuples_as_objects: 1,
  output_format_json_escape_forward_slashes: 0,
  date_time_output_format: 'iso',
  cancel_http_readonly_queries_on_client_close: 1,
};

export async function openClickhouseSource(
  config: ClickhouseSourceConfig,
  context: SourceContext,
): Promise<Source> {
  const link = await Link.open(config, context);
  return {
    pages: (request) => readPages({ link, config, context, request }),
    close: () => link.close(),
  };
}

/** The columns of the result, without reading it. */
export async function describeResult(
  config: ClickhouseSourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const link = await Link.open(config, context);
  try {
    const { columns } = await statementOf({ link, config, context, request: {} });
    return {
      columns: columns.map(({ name, field, type }) => {
        const holds = holdsFor(field.type);
        return { name, field, type: type.text, ...(holds === undefined ? {} : { holds }) };
      }),
    };
  } finally {
    await link.close();
  }
}

interface Reading {
  readonly link: Link;
  readonly config: ClickhouseSourceConfig;
  readonly context: SourceContext;
  readonly request: Pick<ReadRequest, 'bookmark' | 'limit'>;
}

async function* readPages(reading: Reading): AsyncGenerator<Page, void> {
  const { link, config, context, request } = reading;
  const { sql, columns, settings } = await statementOf(reading);
  const schema = { fields: columns.map(({ field }) => field) };
  const bounds = pageBounds(config.batch_size, context.pageBytes);
  const pager = createPager({ bounds, limit: request.limit, schema: () => schema });
  if (pager.done) return;
  const marks = resultMarks(reading, schema.fields);
  const blocks = await link.stream({ text: sql, settings });
  const frame = columns.reduce((sum, { name }) => sum + name.length + 4, 0);
  let bytes = 0;
  for await (const rows of rowsOf(blocks, resultOptions(reading, { columns, settings }))) {
    for (const { values, size } of rows) {
      const record = recordOf(columns, values);
      const raw = marks === undefined ? '' : marks.rawOf(record);
      if (marks?.bookmarks.wasRead(raw, () => record) === true) continue;
      // The row after a page shows whether the page ended in the middle of equal values.
      if (isFull(bounds, pager.count, bytes)) {
        yield pager.take(marks?.bookmarks.before(raw));
        context.signal.throwIfAborted();
        bytes = 0;
      }
      marks?.bookmarks.pass(raw, () => record);
      pager.add(record, size + frame);
      bytes += size + frame;
      if (!pager.done) continue;
      yield pager.take(marks?.bookmarks.safe());
      return;
    }
    marks?.bookmarks.settle();
  }
  if (pager.count > 0) yield pager.take(marks?.bookmarks.end());
}

function resultOptions(
  { context }: Reading,
  { columns, settings }: { columns: readonly ResultColumn[]; settings: Settings },
) {
  const holdsDecimals = columns.some(({ type }) => type.text.includes('Decimal'));
  const keepsDigits = holdsDecimals && settings['output_format_json_quote_decimals'] === undefined;
  return { redactor: context.env.redactor, keepsDigits };
}

interface ReadStatement {
  readonly sql: string;
  readonly columns: readonly ResultColumn[];
  readonly settings: Settings;
}

async function statementOf(reading: Reading): Promise<ReadStatement> {
  const { link, config, context, request } = reading;
  const facts = await link.facts(Object.keys(WANTED));
  const { query, replication } = config;
  if (replication.type === 'full') {
    const sql = compileQuery({ query, context });
    return { sql, ...(await columnsOf(link, sql, facts)) };
  }
  const { column, initial_value: initial } = replication;
  const start: Start = { column, initial, bookmark: readBookmark(request.bookmark) };
  // A bookmark is no literal of its type before the type is known.
  const plain = compileQuery({ query, context, start: { ...start, literal: () => 'NULL' } });
  const described = await columnsOf(link, plain, facts);
  const found = described.columns.find(({ name }) => name === column);
  if (found === undefined)
    throw new ConnectorError('missing', `the query gives no column \`${column}\``, {
      hint: `it gives: ${described.columns.map(({ name }) => name).join(', ')}`,
    });
  const typed = { ...start, literal: literalFor(found.type) };
  return { ...described, sql: fromStart(compileQuery({ query, context, start: typed }), typed) };
}

async function columnsOf(
  link: Link,
  sql: string,
  facts: ServerFacts,
): Promise<Pick<ReadStatement, 'columns' | 'settings'>> {
  const settings = Object.fromEntries(Object.entries(WANTED).filter(([name]) => facts.takes(name)));
  const { columns } = await link.rows(withoutRows(sql));
  refuseEqualNames(columns.map(({ name }) => name));
  const times = { isIso: 'date_time_output_format' in settings, zone: facts.zone };
  return { columns: columns.map(({ name, type }) => columnOf(name, type, times)), settings };
}

function recordOf(columns: readonly ResultColumn[], values: readonly unknown[]): JsonObject {
  const record: JsonObject = {};
  for (const [at, { name, decode }] of columns.entries())
    setField(record, name, decode((values[at] ?? null) as JsonObject | null));
  return record;
}
