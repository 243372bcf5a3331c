import type { SinkContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import type { Sink, TokenWriter, WriteResult } from '../../../kit/sink.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import { isObject } from '../../../lib/text/json.ts';
import { parseTable } from '../../_mssql/quote.ts';
import { createSqlSink } from '../../_sql/sink.ts';
import type { MssqlSinkConfig } from '../config.ts';
import { openMssqlDriver, type MssqlDriver } from './driver.ts';

export async function openMssqlSink(config: MssqlSinkConfig, context: SinkContext): Promise<Sink> {
  const place = parseTable(config.table_name);
  const driver = await openMssqlDriver(config, place, context);
  const sink = createSqlSink({ ...config, table_name: place.table }, driver, context);
  const { column_mapping: mapping } = config;
  if (mapping.kind !== 'auto' || mapping.onUnknown === 'warn' || context.role === 'dlq')
    return sink;
  return withFieldRule(sink, fieldRule(mapping.onUnknown, place.table, { config, driver }));
}

/** What is done about fields without a column before and after a page is written. */
interface FieldRule {
  check(this: void, page: Page): Promise<void>;
  noted(this: void, result: WriteResult): WriteResult;
}

function fieldRule(
  rule: 'drop' | 'error' | undefined,
  table: string,
  { config, driver }: { readonly config: MssqlSinkConfig; readonly driver: MssqlDriver },
): FieldRule {
  const noted = ({ unknownFields: _left, ...result }: WriteResult): WriteResult => result;
  if (rule === 'drop') return { check: async () => {}, noted };
  let known: ReadonlySet<string> | undefined;
  const marker = config.delete_marker?.field;
  const unknownIn = (page: Page): string | undefined =>
    page
      .records()
      .filter(isObject)
      .flatMap((record) => Object.keys(record))
      .find((name) => name !== marker && known?.has(inOneCase(name)) === false);
  return {
    noted,
    async check(page) {
      // A column may have been added since.
      for (const isFresh of [false, true]) {
        if (isFresh || known === undefined) {
          const names = await driver.namesOf(table);
          if (names === undefined) return;
          known = new Set(names.map(inOneCase));
        }
        if (unknownIn(page) === undefined) return;
      }
      const field = unknownIn(page);
      throw new ConnectorError('data', `the table \`${table}\` has no column \`${field}\``, {
        hint: 'add the column, remove the field, or set `on_unknown_field: warn`',
      });
    },
  };
}

function withFieldRule(sink: Sink, { check, noted }: FieldRule): Sink {
  const { tokens } = sink;
  const checked: TokenWriter | undefined = tokens && {
    last: (scope) => tokens.last(scope),
    forget: (scope) => tokens.forget(scope),
    async hold(page) {
      await check(page);
      await tokens.hold(page);
    },
    async write(page, scope, token) {
      await check(page);
      return noted(await tokens.write(page, scope, token));
    },
  };
  return {
    ...sink,
    ...(checked === undefined ? {} : { tokens: checked }),
    async write(page, options) {
      await check(page);
      return noted(await sink.write(page, options));
    },
  };
}
