/** Reads the binary log of a MariaDB with the source `mysql-cdc`, until so many changes have come. */
import { mysqlCdcSource } from '../../src/connectors/mysql-cdc/index.ts';
import { RECORDS_LANE, type Page } from '../../src/kit/page.ts';
import { check } from '../../src/kit/schema.ts';
import type { Source } from '../../src/kit/source.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import {
  DATABASE,
  SERVER_ID,
  TABLE,
  type LogPosition,
} from '../conformance/fixtures/logged-table.ts';
import { sourceContext, testEnv, type TestEnv } from '../fakes/env.ts';

export interface LogReading {
  /** Without it the run ends by itself. */
  readonly count?: number;
  readonly start?: LogPosition;
  readonly bookmark?: JsonValue | undefined;
  readonly limit?: number;
  readonly config?: JsonObject;
  readonly env?: TestEnv;
  readonly pageBytes?: number;
  readonly onPage?: (page: Page, source: Source) => Promise<void> | void;
}

export interface ReadLog {
  readonly pages: readonly Page[];
  readonly records: readonly JsonObject[];
  /** The last one. */
  readonly bookmark: JsonValue | undefined;
}

export function openLog(
  url: string,
  { start, config, env = testEnv(), pageBytes }: LogReading,
): Promise<Source> {
  const checked = check(mysqlCdcSource.config, {
    connection_url: url,
    server_id: SERVER_ID,
    include_tables: [`${DATABASE}.${TABLE}`],
    ...(start === undefined ? {} : { start_position: { type: 'file_pos', ...start } }),
    idle_timeout: 60,
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const context = sourceContext({ env, ...(pageBytes === undefined ? {} : { pageBytes }) });
  return mysqlCdcSource.open(checked.value, context);
}

export async function readLog(url: string, reading: LogReading): Promise<ReadLog> {
  const { count, bookmark, limit, onPage } = reading;
  const source = await openLog(url, reading);
  const pages: Page[] = [];
  let read = 0;
  const request = {
    lane: RECORDS_LANE,
    ...(bookmark === undefined ? {} : { bookmark }),
    ...(limit === undefined ? {} : { limit }),
  };
  try {
    for await (const page of source.pages(request)) {
      pages.push(page);
      read += page.count;
      await onPage?.(page, source);
      if (count !== undefined && read >= count && page.bookmark !== undefined) break;
    }
  } finally {
    await source.close();
  }
  return {
    pages,
    records: pages.flatMap((page) => page.records() as JsonObject[]),
    bookmark: pages.findLast((page) => page.bookmark !== undefined)?.bookmark,
  };
}
