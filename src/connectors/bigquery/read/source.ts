import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { isFull, pageBounds } from '../../../kit/page-bounds.ts';
import type { ReadRequest, ResultShape, Source } from '../../../kit/source.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { stringifyJson } from '../../../lib/text/json.ts';
import { refuseEqualNames } from '../../_sql/equal-names.ts';
import { createPager } from '../../_sql/pager.ts';
import type { BigquerySourceConfig } from '../config.ts';
import { dryRun, nextPart, runQuery, type Query, type ResultPart } from '../jobs.ts';
import { Link } from '../link.ts';
import { fieldsIn, recordFieldOf, sqlType } from '../types/fields.ts';
import { rowReader } from '../types/read-values.ts';
import { compileQuery } from './query.ts';

export async function openBigquerySource(
  config: BigquerySourceConfig,
  context: SourceContext,
): Promise<Source> {
  const link = await Link.open(config, context);
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

async function* readPages({ link, config, context, request }: Reading): AsyncGenerator<Page, void> {
  const { limit = Infinity } = request;
  if (limit <= 0) return;
  const pageRows = Math.min(config.max_results_per_page, limit);
  let part = await runQuery(link, 'the query', { ...queryOf(config, context), pageRows });
  const fields = fieldsIn(part.fields);
  refuseEqualNames(fields.map(({ name }) => name));
  const schema = { fields: fields.map(recordFieldOf) };
  const read = rowReader(fields);
  const bounds = pageBounds(config.batch_size, context.pageBytes);
  const pager = createPager({ bounds, limit, schema: () => schema });
  let bytes = 0;
  for (;;) {
    for (const row of part.rows) {
      const record = read(row);
      const size = stringifyJson(record).length;
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
    const next: ResultPart['next'] = part.next;
    if (next === undefined) break;
    context.signal.throwIfAborted();
    part = await nextPart(link, next, pageRows);
  }
  if (pager.count > 0) yield pager.take();
}

function queryOf(config: BigquerySourceConfig, context: SourceContext): Query {
  const { query, params, use_legacy_sql: isLegacy } = config;
  return { ...compileQuery({ query, params, isLegacy, context }), isLegacy };
}

/** The columns of the result, without reading it. */
export async function describeResult(
  config: BigquerySourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const link = await Link.open(config, context);
  const fields = fieldsIn(await dryRun(link, 'the query', queryOf(config, context)));
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
