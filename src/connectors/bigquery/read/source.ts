import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { isFull, pageBounds } from '../../../kit/page-bounds.ts';
import { encodedSize } from '../../../kit/rough-size.ts';
import type { ReadRequest, ResultShape, Source } from '../../../kit/source.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { refuseEqualNames } from '../../_sql/equal-names.ts';
import { createPager } from '../../_sql/pager.ts';
import type { BigquerySourceConfig } from '../config.ts';
import { dryRun, nextPart, runQuery, type Query, type ResultPart } from '../jobs.ts';
import { Link } from '../link.ts';
import { fieldsIn, recordFieldOf, sqlType } from '../types/fields.ts';
import { rowReader } from '../types/read-values.ts';
import { compileQuery } from './query.ts';
import type { RowsOfResult } from './rows-of-result.ts';

export async function openBigquerySource(
  config: BigquerySourceConfig,
  context: SourceContext,
): Promise<Source> {
  const link = await Link.open(config, context);
  if (config.read_table !== undefined && config.query !== undefined)
    context.env.log.warn('the table is read, and the query is not run', {
      read_table: config.read_table,
    });
  return {
    pages: (request) => readPages({ link, config, context, request }),
    close: () => Promise.resolve(),
  };
}

interface Reading {
  readonly link: Link;
  readonly config: BigquerySourceConfig;
  readonly context: SourceContext;
  readonly request: Pick<ReadRequest, 'limit'>;
}

async function* readPages(reading: Reading): AsyncGenerator<Page, void> {
  const { config, context, request } = reading;
  const { limit = Infinity } = request;
  if (limit <= 0) return;
  const { fields, parts } = config.read_api
    ? await (await import('../storage/result.ts')).readResult(reading)
    : await pagedResult(reading);
  refuseEqualNames(fields.map(({ name }) => name));
  const schema = { fields: fields.map(recordFieldOf) };
  const bounds = pageBounds(config.batch_size, context.pageBytes);
  const pager = createPager({ bounds, limit, schema: () => schema });
  let bytes = 0;
  for await (const records of parts())
    for (const record of records) {
      const size = encodedSize(record);
      if (
        pager.count > 0 &&
        (isFull(bounds, pager.count, bytes) || bytes + size > context.pageBytes)
      ) {
        yield pager.take();
        context.signal.throwIfAborted();
        bytes = 0;
      }
      bytes += size;
      pager.add(record, size);
      if (!pager.done) continue;
      yield pager.take();
      return;
    }
  if (pager.count > 0) yield pager.take();
}

/** By the REST API: the next part is asked for when the one before it is taken. */
async function pagedResult({ link, config, context, request }: Reading): Promise<RowsOfResult> {
  const pageRows = Math.min(config.max_results_per_page, request.limit ?? Infinity);
  const query = { ...queryOf(config, context), pageRows };
  const first = await runQuery(link, 'the query', query);
  const fields = fieldsIn(first.fields);
  const read = rowReader(fields);
  return {
    fields,
    async *parts() {
      let part = first;
      for (let count = 0; ;) {
        count += part.rows.length;
        yield part.rows.map(read);
        const next: ResultPart['next'] = part.next;
        if (next === undefined) return part === first ? undefined : refuseMissing(first, count);
        context.signal.throwIfAborted();
        part = await nextPart(link, next, pageRows);
      }
    },
  };
}

function refuseMissing({ total }: ResultPart, count: number): void {
  if (total === undefined || total === count) return;
  const said = `the result has ${total} rows, and ${count} of them came`;
  throw new ConnectorError('connection', said, { hint: 'run it again' });
}

function queryOf(config: BigquerySourceConfig, context: SourceContext): Query {
  const { query = '', params, use_legacy_sql: isLegacy } = config;
  return { ...compileQuery({ query, params, isLegacy, context }), isLegacy };
}

/** The columns of the result, without reading it. */
export async function describeResult(
  config: BigquerySourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const link = await Link.open(config, context);
  const fields =
    config.read_table === undefined
      ? fieldsIn(await dryRun(link, 'the query', queryOf(config, context)))
      : await (await import('../storage/result.ts')).describeTable({ link, config, context });
  return {
    columns: fields.map((field) => {
      const known = recordFieldOf(field);
      const holds = holdsFor(known.type);
      return {
        name: field.name,
        field: known,
        type: sqlType(field),
        ...(holds === undefined ? {} : { holds }),
      };
    }),
  };
}
