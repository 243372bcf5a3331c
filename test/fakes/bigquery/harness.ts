/** What the tests of both sides of the connector share. */
import { bigquerySink, bigquerySource } from '../../../src/connectors/bigquery/index.ts';
import { Page } from '../../../src/kit/page.ts';
import type { RecordSchema } from '../../../src/kit/record-schema.ts';
import type { Sink, WriteOptions, WriteResult } from '../../../src/kit/sink.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { stillClock } from '../clock.ts';
import { issuesOf, parsed } from '../parsed.ts';
import { testContext, testEnv, type TestContext } from '../env.ts';
import { readAll } from '../read-all.ts';
import { PROJECT } from './server.ts';

export { issuesOf, parsed };

/** Its waits are over at once. */
export function quickContext(changes: Partial<TestContext> = {}): TestContext {
  const env = testEnv({ clock: stillClock('2026-02-01T00:00:00Z') });
  return { ...testContext('/', changes), env, lines: env.lines };
}

export async function read(config: JsonObject, context = quickContext()): Promise<JsonObject[]> {
  const source = await bigquerySource.open(parsed(bigquerySource, config), context);
  return (await readAll(source)).flatMap((page) => page.records() as readonly JsonObject[]);
}

export function opened(config: JsonObject, context = quickContext()): Promise<Sink> {
  return bigquerySink.open(parsed(bigquerySink, config), context);
}

export interface Writing extends Partial<WriteOptions> {
  readonly schema?: RecordSchema;
}

export async function write(
  config: JsonObject,
  records: readonly JsonObject[],
  { partial = false, schema }: Writing = {},
): Promise<WriteResult> {
  const sink = await opened(config);
  try {
    const result = await sink.write(Page.ofRecords([...records], { schema }), { partial });
    await sink.flush();
    await sink.finish('success');
    return result;
  } finally {
    await sink.close();
  }
}

export function named(table: string): string {
  return `\`${PROJECT}.shop.${table}\``;
}
