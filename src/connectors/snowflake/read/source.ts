import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { pageBounds } from '../../../kit/page-bounds.ts';
import type { ReadRequest, ResultShape, Source } from '../../../kit/source.ts';
import { holdsFor } from '../../../kit/typed-values.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { refuseEqualNames } from '../../_sql/equal-names.ts';
import { createPager } from '../../_sql/pager.ts';
import type { SnowflakeSourceConfig } from '../config.ts';
import { Session, type Result, type ResultRow } from '../session/session.ts';
import { compileQuery } from './query.ts';
import { resultColumns, schemaOf, type ResultColumn } from './types.ts';

export async function openSnowflakeSource(
  config: SnowflakeSourceConfig,
  context: SourceContext,
): Promise<Source> {
  const session = await Session.open(config, context);
  return {
    pages: (request) => readPages(session, { config, context, request }),
    close: () => session.close(),
  };
}

/** The columns of the result, without reading it. */
export async function describeResult(
  config: SnowflakeSourceConfig,
  context: SourceContext,
): Promise<ResultShape> {
  const session = await Session.open(config, context);
  try {
    const { text, bindings } = compileQuery(config, context);
    const { columns } = await session.run({
      text: `SELECT * FROM (\n${text}\n) LIMIT 0`,
      bindings,
      timeoutSecs: config.statement_timeout,
      isAsync: true,
    });
    return {
      columns: columnsOf(columns).map(({ name, typeName: type, field }) => {
        const holds = field === undefined ? undefined : holdsFor(field.type);
        return {
          name,
          type,
          ...(field === undefined ? {} : { field }),
          ...(holds === undefined ? {} : { holds }),
        };
      }),
    };
  } finally {
    await session.close();
  }
}

function columnsOf(columns: Result['columns']): readonly ResultColumn[] {
  refuseEqualNames(columns.map(({ name }) => name));
  return resultColumns(columns);
}

interface Reading {
  readonly config: SnowflakeSourceConfig;
  readonly context: SourceContext;
  readonly request: Pick<ReadRequest, 'limit'>;
}

async function* readPages(
  session: Session,
  { config, context, request }: Reading,
): AsyncGenerator<Page, void> {
  const { limit } = request;
  const result = await session.run({
    ...compileQuery(config, context),
    timeoutSecs: config.statement_timeout,
    limit,
    isAsync: true,
  });
  const columns = columnsOf(result.columns);
  const schema = schemaOf(columns);
  const pager = createPager({
    bounds: pageBounds(config.batch_size, context.pageBytes),
    limit,
    schema: () => schema,
  });
  const frame = columns.reduce((sum, { name }) => sum + name.length + 4, 2);
  for await (const rows of partitions(result)) {
    for (const row of rows) {
      const size = row.reduce((sum, cell) => sum + (cell?.length ?? 4), frame);
      if (!pager.add(recordOf(columns, row), size)) continue;
      yield pager.take();
      context.signal.throwIfAborted();
      if (pager.done) return;
    }
  }
  if (pager.count > 0) yield pager.take();
}

/** The server sends the next one while this one is worked on. */
async function* partitions(result: Result): AsyncGenerator<readonly ResultRow[]> {
  let next = result.rows(0);
  for (let at = 1; at <= result.partitions; at += 1) {
    const rows = await next;
    if (at < result.partitions) {
      next = result.rows(at);
      next.catch(() => {});
    }
    yield rows;
  }
}

function recordOf(columns: readonly ResultColumn[], row: ResultRow): JsonObject {
  const record: JsonObject = {};
  for (const [at, { name, decode }] of columns.entries()) {
    const text = row[at] ?? null;
    setField(record, name, text === null ? null : decode(text));
  }
  return record;
}
