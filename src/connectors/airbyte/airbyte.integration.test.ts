/** Against a source of Airbyte itself, which makes its records up and needs no network. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { airbyteFaker } from '../../../test/servers/airbyte-connectors.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { airbyteSourceConfig } from './config.ts';
import { airbyteSource } from './index.ts';

const { command = [], reason } = airbyteFaker;
const LONG = { timeout: 60_000 };

describe.skipIf(reason !== undefined)(`airbyte-source-faker ${reason ?? ''}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-airbyte-faker-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const configOf = (more: JsonObject) => {
    const checked = check(airbyteSourceConfig, {
      command: [...command],
      source_config: { count: 20, seed: 1, records_per_slice: 5, always_updated: false },
      stream: 'users',
      on_malformed: 'fail',
      ...more,
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    return checked.value;
  };
  const read = async (more: JsonObject, bookmark?: JsonValue) => {
    const context = testContext(folder);
    const source = await airbyteSource.open(configOf(more), context);
    const pages: Page[] = [];
    const request = { lane: RECORDS_LANE, ...(bookmark === undefined ? {} : { bookmark }) };
    try {
      for await (const page of source.pages(request)) pages.push(page);
    } finally {
      await source.close();
    }
    return { pages, context, records: pages.flatMap((page) => page.records() as JsonObject[]) };
  };

  it('says what is wrong, and what it has', LONG, async () => {
    const probed = await airbyteSource.probe?.(configOf({}), testContext(folder));
    expect(probed?.map(({ status }) => status)).toEqual(['pass', 'pass', 'pass']);
    const found = await airbyteSource.discover?.(configOf({}), testContext(folder));
    expect(found?.map(({ config_patch: patch }) => patch)).toEqual(
      ['products', 'users', 'purchases'].map((stream) => ({ stream, sync_mode: 'incremental' })),
    );
  });

  it('is read whole, every time', LONG, async () => {
    const { pages, records } = await read({});
    expect(records.map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    expect(pages.every(({ bookmark }) => bookmark === undefined)).toBe(true);
  });

  it('goes on at its states, and ends where it has nothing new', LONG, async () => {
    const first = await read({ sync_mode: 'incremental' });
    expect(first.records).toHaveLength(20);
    const bookmark = first.pages.at(-1)?.bookmark ?? null;
    expect(bookmark).toMatchObject([
      { type: 'STREAM', stream: { stream_descriptor: { name: 'users' } } },
    ]);
    expect((await read({ sync_mode: 'incremental' }, bookmark)).records).toEqual([]);
  });

  it('refuses a config that it does not understand', LONG, async () => {
    const wrong = { source_config: { count: 'many' } };
    await expect(read(wrong)).rejects.toMatchObject({
      message: expect.stringMatching(/failed: .*many/s) as unknown,
    });
  });
});
