import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { isFull, pageBounds } from '../../../kit/page-bounds.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { encodedSize } from '../../../kit/rough-size.ts';
import type { ReadRequest, ResultShape, Source } from '../../../kit/source.ts';
import { readBookmark } from '../../../kit/stored-bookmark.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import { createPager } from '../../_sql/pager.ts';
import { recordMarks, type RecordMarks } from '../../_sql/record-marks.ts';
import { checkResultColumns } from '../../_sql/result-columns.ts';
import type { Selector, StructField, ValueType } from '../api.ts';
import type { SpannerSourceConfig } from '../config.ts';
import { SpannerLink } from '../link.ts';
import type { Query } from '../statement.ts';
import { recordFieldOf } from '../types/fields.ts';
import { rowReader } from '../types/read-values.ts';
import { canBeBookmark, compileQuery, withoutRows } from './query.ts';
import { resultRows } from './stream.ts';

export function openSpannerSource(config: SpannerSourceConfig, context: SourceContext): Source {
  const link = new SpannerLink(config, context);
  return {
    pages: (request) => readPages({ link, config, context, request }),
    close: () => link.close(),
  };
}

/** The columns of the result, without reading it. */
export async function describeResult(
  config: SpannerSourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const link = new SpannerLink(config, context);
  try {
    const { query, params } = config;
    const start = startOf({ link, config, context, request: {} });
    const fields = await fieldsOf(
      { link, config },
      compileQuery({ query, params, context, start }),
    );
    return {
      columns: fields.map((one) => {
        const field = recordFieldOf(one);
        const holds = holdsFor(field.type);
        const type = field.native?.name ?? field.type.kind;
        return { name: one.name, field, type, ...(holds === undefined ? {} : { holds }) };
      }),
    };
  } finally {
    await link.close();
  }
}

interface Reading {
  readonly link: SpannerLink;
  readonly config: SpannerSourceConfig;
  readonly context: SourceContext;
  readonly request: Pick<ReadRequest, 'bookmark' | 'limit'>;
}

async function* readPages(reading: Reading): AsyncGenerator<Page, void> {
  const { link, config, context, request } = reading;
  const { limit = Infinity } = request;
  if (limit <= 0) return;
  const bounds = pageBounds(config.batch_size, context.pageBytes);
  const query = await statementOf(reading);
  let marks: RecordMarks | undefined;
  let schema: RecordSchema | undefined;
  let read = rowReader([]);
  const pager = createPager({ bounds, limit, schema: () => schema });
  let bytes = 0;
  for await (const { fields, rows } of resultRows(link, query, snapshotOf(config))) {
    if (schema === undefined) {
      checkResultColumns(fields.map(({ name }) => name));
      schema = { fields: fields.map(recordFieldOf) };
      read = rowReader(fields);
      marks = marksOf(reading, fields);
    }
    for (const row of rows) {
      const record = read(row);
      const raw = marks === undefined ? '' : marks.rawOf(record);
      if (marks?.bookmarks.wasRead(raw, () => record) === true) continue;
      const size = encodedSize(record);
      // The row after a page shows whether the page ended in the middle of equal values.
      if (
        pager.count > 0 &&
        (isFull(bounds, pager.count, bytes) || bytes + size > context.pageBytes)
      ) {
        yield pager.take(marks?.bookmarks.before(raw));
        context.signal.throwIfAborted();
        bytes = 0;
      }
      marks?.bookmarks.pass(raw, () => record);
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

/** One moment for the whole result. */
function snapshotOf({ exact_staleness_secs: secs }: SpannerSourceConfig): Selector {
  const read_only =
    secs === undefined || secs === 0
      ? { strong: true }
      : { exact_staleness: { seconds: BigInt(secs), nanos: 0 } };
  return { single_use: { read_only } };
}

function startOf({ config: { replication }, request }: Reading, type?: ValueType) {
  if (replication.type === 'full') return undefined;
  const { column, initial_value: initial } = replication;
  return { column, initial, bookmark: readBookmark(request.bookmark), type };
}

/** The statement; the type of the incremental column decides how its start is bound. */
async function statementOf(reading: Reading): Promise<Query> {
  const { config, context } = reading;
  const { query, params, replication } = config;
  const undecided = compileQuery({ query, params, context, start: startOf(reading) });
  if (replication.type === 'full') return undecided;
  const { column } = replication;
  const fields = await fieldsOf(reading, undecided);
  const found = fields.find(({ name }) => inOneCase(name) === inOneCase(column));
  if (found === undefined)
    throw new ConnectorError('missing', `the query gives no column \`${column}\``, {
      hint: `it gives: ${fields.map(({ name }) => name).join(', ')}`,
    });
  const { name, type = { code: 0 } } = found;
  if (!canBeBookmark(type))
    throw new ConnectorError(
      'refused',
      `the incremental column \`${name}\` is ${recordFieldOf(found).native?.name ?? recordFieldOf(found).type.kind}: it has to be INT64, TIMESTAMP or DATE`,
      { hint: 'choose another column, or cast it in the query' },
    );
  const start = startOf(reading, type);
  return compileQuery({ query, params, context, start: start && { ...start, column: name } });
}

async function fieldsOf(
  { link, config }: Pick<Reading, 'link' | 'config'>,
  query: Query,
): Promise<readonly StructField[]> {
  for await (const { fields } of resultRows(link, withoutRows(query), snapshotOf(config))) {
    checkResultColumns(fields.map(({ name }) => name));
    return fields;
  }
  return [];
}

/** By the column as the result spells it. */
function marksOf(
  { config, context, request }: Reading,
  fields: readonly StructField[],
): RecordMarks | undefined {
  if (config.replication.type !== 'incremental') return undefined;
  const { column } = config.replication;
  const found = fields.find(({ name }) => inOneCase(name) === inOneCase(column));
  const marked = { name: found?.name ?? column, isLoose: false, isDecimal: false };
  return recordMarks(request.bookmark, marked, context);
}
