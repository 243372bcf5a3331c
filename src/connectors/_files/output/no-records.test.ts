/** What a run without records says of the file of an earlier run. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { testContext, testEnv } from '../../../../test/fakes/env.ts';
import type { ZodType } from 'zod';
import { check } from '../../../kit/schema.ts';
import type { SinkContext } from '../../../kit/context.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { csvSink } from '../../csv/index.ts';
import { jsonlSink } from '../../jsonl/index.ts';
import { parquetSink } from '../../parquet/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-no-records-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each([
  ['csv', csvSink, (path: string): JsonObject => ({ path })],
  ['jsonl', jsonlSink, (path: string): JsonObject => ({ path })],
  [
    'parquet',
    parquetSink,
    (path: string): JsonObject => ({ destination: { type: 'local_path', path } }),
  ],
] as const)('%s', (type, definition, configOf) => {
  /** The warnings of a run that writes nothing. */
  async function warnings(name: string, more: Partial<SinkContext> = {}): Promise<string[]> {
    const env = testEnv({ cwd: folder });
    const checked = check(definition.config as ZodType<never>, configOf(join(folder, name)));
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const sink = await definition.open(checked.value, { ...testContext(folder), env, ...more });
    await sink.flush();
    await sink.finish('success');
    await sink.close();
    return env.lines.map(({ line }) => line).filter((line) => line.includes('no record came'));
  }

  test('the old file stays, and it is said', async () => {
    const name = `old.${type}`;
    expect(await warnings(name)).toEqual([]);
    writeFileSync(join(folder, name), 'of yesterday');
    expect((await warnings(name))[0]).toContain(
      'no record came, so the file of an earlier run stays as it was',
    );
    expect(readFileSync(join(folder, name), 'utf8')).toBe('of yesterday');
  });

  test('nothing is said where no records are no news', async () => {
    const name = `news.${type}`;
    writeFileSync(join(folder, name), 'of yesterday');
    expect(await warnings(name, { progress: 'positions' })).toEqual([]);
    expect(await warnings(name, { role: 'dlq' })).toEqual([]);
  });
});
