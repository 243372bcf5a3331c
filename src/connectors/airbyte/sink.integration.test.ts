/** Against a destination of others, which is built on Airbyte's own kit and writes to a folder. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { airbyteAilake } from '../../../test/servers/airbyte-connectors.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { airbyteSink } from './index.ts';
import { airbyteSinkConfig } from './sink-config.ts';

const { command = [], packages, reason } = airbyteAilake;
const LONG = { timeout: 120_000 };

/** Numbers in place of the vectors that a model would give. */
const EMBED = `import json, sys
print(json.dumps([[float(len(text)), 1.0] for text in json.load(sys.stdin)]))
`;

/** Files are those of Parquet: another program reads them. */
const READ = `import glob, json, sys
import pyarrow.parquet as parquet
rows = [
    row
    for file in glob.glob(sys.argv[1] + '/**/*.parquet', recursive=True)
    for row in parquet.read_table(file, columns=['id', 'text']).to_pylist()
]
print(json.dumps(sorted(rows, key=lambda row: row['id'])))
`;

describe.skipIf(reason !== undefined)(`airbyte-destination-ailake ${reason ?? ''}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-airbyte-ailake-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const embed = join(folder, 'embed.py');
  writeFileSync(embed, EMBED);

  const configOf = (base: string, more: JsonObject = {}) => {
    const checked = check(airbyteSinkConfig, {
      command: [...command],
      destination_config: {
        table_base_path: join(folder, base),
        embed_mode: 'cmd',
        embed_cmd: `python3 ${embed}`,
        embedding_dim: 2,
        text_field: 'text',
        ...more,
      },
      stream: 'orders',
      flush_timeout_secs: 60,
      on_malformed: 'fail',
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    return checked.value;
  };
  const open = (base: string, more: JsonObject = {}) =>
    airbyteSink.open(configOf(base, more), testContext(folder));
  const rowsIn = (base: string): JsonObject[] =>
    JSON.parse(
      execFileSync('python3', ['-c', READ, join(folder, base)], {
        env: { ...process.env, PYTHONPATH: packages },
      }).toString(),
    ) as JsonObject[];
  const pageOf = (...ids: number[]) =>
    Page.ofRecords(ids.map((id) => ({ id, text: `order ${id}` })));

  it('has what a flush stored before it is ended, and no record twice', LONG, async () => {
    const sink = await open('flushed');
    await sink.write(pageOf(1, 2), { partial: false });
    await sink.write(pageOf(3), { partial: false });
    await sink.flush();
    expect(rowsIn('flushed')).toEqual([1, 2, 3].map((id) => ({ id, text: `order ${id}` })));
    await sink.write(pageOf(4), { partial: false });
    await sink.flush();
    await sink.finish('success');
    await sink.close();
    expect(rowsIn('flushed').map(({ id }) => id)).toEqual([1, 2, 3, 4]);
  });

  it('keeps nothing that was not flushed of a run that failed', LONG, async () => {
    const sink = await open('failed');
    await sink.write(pageOf(1), { partial: false });
    await sink.flush();
    await sink.write(pageOf(2), { partial: false });
    await sink.finish('failed');
    await sink.close();
    expect(rowsIn('failed').map(({ id }) => id)).toEqual([1]);
  });

  it('tells in its own words what it cannot do', LONG, async () => {
    const sink = await open('refused', { embed_cmd: 'exit 3' });
    await sink.write(pageOf(1), { partial: false });
    await expect(sink.flush()).rejects.toMatchObject({
      message: expect.stringMatching(/failed: /) as unknown,
    });
    await sink.close();
    const found = await airbyteSink.probe?.(configOf('probed'), {
      ...testContext(folder),
      role: 'main',
    });
    expect(found?.map(({ status }) => status)).toEqual(['pass', 'pass', 'pass']);
  });
});
