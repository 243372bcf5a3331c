/** What sinks make of JSON Lines that travel as columns is what they make of their records. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { testContext } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { jsonlSource } from '../../connectors/jsonl/index.ts';
import { parquetSink, parquetSource } from '../../connectors/parquet/index.ts';
import { postgresSink } from '../../connectors/postgres/index.ts';
import { COLUMNS_LANE, RECORDS_LANE, type Lane } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Sink } from '../../kit/sink.ts';
import type { Source } from '../../kit/source.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-json-columns-'));
let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;
beforeAll(async () => {
  database = await freshDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

function parsed(definition: { readonly config: ZodType }, config: unknown): never {
  const checked = check(definition.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

/** What the sink said of each page, or why it failed. */
async function move(path: string, sink: Sink, lane: Lane): Promise<unknown> {
  const source: Source = await jsonlSource.open(
    parsed(jsonlSource, { path, batch_size: 4 }),
    testContext(folder),
  );
  const told: unknown[] = [];
  try {
    for await (const page of source.pages({ lane })) {
      if (lane.form === 'columns') formsSeen.add(page.form.form);
      told.push(await sink.write(page, { partial: false }));
      page.release();
    }
    await sink.flush();
    await sink.finish('success');
    return told;
  } catch (error) {
    return String(error);
  } finally {
    await sink.close();
    await source.close();
  }
}
const formsSeen = new Set<string>();

const value = fc.constantFrom(
  '1',
  '0',
  '-2.5',
  '-0',
  '1.0',
  '1e5',
  '9007199254740993',
  'true',
  'false',
  'null',
  '""',
  '"x"',
  '"tab\\t\\\\ \\"é\\n"',
  '"\\u0041"',
  '"1"',
  '"true"',
  '[1, "a"]',
  '["x"]',
  '{"k":"\\\\"}',
  '{"k": [null]}',
);
const lines = fc
  .array(
    fc.tuple(value, value, value, fc.constantFrom('', ' '), fc.constantFrom(3, 3, 3, 0, 1, 2)),
    { minLength: 1, maxLength: 9 },
  )
  .map((rows) =>
    rows.map(([a, b, c, space, lacking]) => {
      const fields = [a, b, c]
        .map((text, index) => `"${'abc'[index]}":${space}${text}`)
        .filter((_, index) => index !== lacking);
      return `{${fields.join(`,${space}`)}}`;
    }),
  );

test('a table of PostgreSQL', async () => {
  const types = fc.array(
    fc.constantFrom('text', 'jsonb', 'numeric', 'bigint', 'boolean', 'text[]', 'json'),
    {
      minLength: 3,
      maxLength: 3,
    },
  );
  const input = join(folder, 'in.jsonl');
  await fc.assert(
    fc.asyncProperty(lines, types, async (given, [a, b, c]) => {
      writeFileSync(input, given.join('\n'));
      const found: unknown[] = [];
      for (const lane of [RECORDS_LANE, COLUMNS_LANE]) {
        await client.query(
          `DROP TABLE IF EXISTS t; CREATE TABLE t (c ${c}, a ${a}, b ${b}, d int DEFAULT 5)`,
        );
        const config = parsed(postgresSink, {
          connection_url: database.url,
          table_name: 't',
          column_mapping: 'auto_map',
          write_method: 'copy',
        });
        const told = await move(input, await postgresSink.open(config, testContext(folder)), lane);
        found.push([
          typeof told === 'string' ? 'failed' : told,
          (await client.query('SELECT t::text AS row FROM t')).rows,
        ]);
      }
      expect(found[1]).toEqual(found[0]);
    }),
    { numRuns: 60 },
  );
  expect(formsSeen).toContain('columns');
});

test('a Parquet file', async () => {
  const input = join(folder, 'in.jsonl');
  await fc.assert(
    fc.asyncProperty(lines, async (given) => {
      writeFileSync(input, given.join('\n'));
      const found: unknown[] = [];
      for (const lane of [RECORDS_LANE, COLUMNS_LANE]) {
        const path = join(folder, 'out.parquet');
        rmSync(path, { force: true });
        const config = parsed(parquetSink, { destination: { type: 'local_path', path } });
        const told = await move(input, await parquetSink.open(config, testContext(folder)), lane);
        found.push([told, typeof told === 'string' ? [] : await recordsOf(path)]);
      }
      expect(found[1]).toEqual(found[0]);
    }),
    { numRuns: 30 },
  );
});

async function recordsOf(path: string): Promise<unknown[]> {
  const source: Source = await parquetSource.open(
    parsed(parquetSource, { source: { type: 'local_path', path } }),
    testContext(folder),
  );
  const records: unknown[] = [];
  for await (const page of source.pages({ lane: RECORDS_LANE })) records.push(...page.records());
  await source.close();
  return records;
}
