import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SinkContext } from '../../../kit/context.ts';
import { Page } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import type { FinishReason, SinkDefinition } from '../../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { testContext } from '../../../../test/fakes/env.ts';
import { csvSink } from '../../csv/sink.ts';
import { jsonlSink } from '../../jsonl/sink.ts';
import { parquetSink } from '../../parquet/sink.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'replacing-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

interface Run {
  readonly reason?: FinishReason;
  readonly context?: Partial<SinkContext>;
}

async function run(
  definition: SinkDefinition,
  config: JsonObject,
  pages: readonly JsonValue[][],
  { reason = 'success', context = {} }: Run = {},
): Promise<void> {
  const checked = check(definition.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await definition.open(checked.value, testContext(folder, context));
  try {
    for (const page of pages) {
      await sink.write(Page.ofRecords(page), { partial: false });
      await sink.flush();
    }
    await sink.finish(reason);
  } finally {
    await sink.close();
  }
}

const text = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');
const from = (bookmark: JsonValue | undefined): Partial<SinkContext> => ({
  progress: 'positions',
  startsAfter: () => bookmark,
});

describe.each([
  ['jsonl', jsonlSink, '{"a":1}\n', '{"a":2}\n'],
  ['csv', csvSink, 'a\n1\n', 'a\n2\n'],
] as const)('a file of %s that takes the place of another', (format, sink, old, whole) => {
  const path = `out.${format}`;

  it.each<FinishReason>(['failed', 'cancelled'])(
    'does not when the run is %s, unless that is asked for',
    async (reason) => {
      await run(sink, { path }, [[{ a: 1 }]]);
      await run(sink, { path }, [[{ a: 2 }]], { reason });
      expect(await text(path)).toBe(old);
      expect(await readdir(folder)).toEqual([path]);
      await run(sink, { path, on_failure: 'keep_partial' }, [[{ a: 2 }]], { reason });
      expect(await text(path)).toBe(whole);
    },
  );

  it('does when it is whole, with the rights of the old one, also behind a link', async () => {
    await writeFile(join(folder, 'real'), 'old\n');
    await chmod(join(folder, 'real'), 0o600);
    await symlink('real', join(folder, path));
    await run(sink, { path }, [[{ a: 2 }]]);
    expect(await text('real')).toBe(whole);
    expect((await stat(join(folder, 'real'))).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).sort()).toEqual([path, 'real'].sort());
  });

  it('stays when there are no records', async () => {
    await run(sink, { path }, [[{ a: 1 }]]);
    for (const context of [{}, from(3)]) await run(sink, { path }, [], { context });
    expect(await text(path)).toBe(old);
  });

  it('goes on after a position with the part that was written before it', async () => {
    await run(sink, { path }, [[{ a: 0 }]]);
    const before = await text(path);
    await run(sink, { path }, [[{ a: 1 }]], { reason: 'failed', context: from(1) });
    expect(await text(path)).toBe(before);
    await run(sink, { path }, [[{ a: 2 }]], { context: from(2) });
    expect((await text(path)).replace('a\n', '')).toBe((old + whole).replaceAll('a\n', ''));
    expect(await readdir(folder)).toEqual([path]);
  });

  it('starts over where the run before had stored no position, or it was taken away', async () => {
    await run(sink, { path }, [[{ a: 0 }]]);
    for (const start of [1, undefined]) {
      await run(sink, { path }, [[{ a: 1 }]], { reason: 'failed', context: from(1) });
      await run(sink, { path }, [[{ a: 2 }]], { context: from(start) });
      expect(await text(path)).toBe(whole);
    }
  });

  it('is whole when the run before had only not come to its end', async () => {
    await run(sink, { path }, [[{ a: 0 }]]);
    await run(sink, { path }, [[{ a: 2 }]], { reason: 'failed', context: from(1) });
    await run(sink, { path }, [], { context: from(2) });
    expect(await text(path)).toBe(whole);
  });

  it('lets a first part be looked at, and goes on with it', async () => {
    await run(sink, { path }, [[{ a: 1 }]], { reason: 'cancelled', context: from(undefined) });
    expect(await text(path)).toBe(old);
    await run(sink, { path }, [[{ a: 2 }]], { context: from(2) });
    expect((await text(path)).replace('a\n', '')).toBe((old + whole).replaceAll('a\n', ''));
  });

  it('removes what killed runs have left beside it, and nothing else', async () => {
    await run(sink, { path }, [[{ a: 1 }]]);
    const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 6);
    const left = (target: string, pid: number) => `.${target}.${host}-${pid}-0123abcd.svc-tmp`;
    const kept = [left(path, process.ppid), left('other', 4_000_000)];
    for (const one of [left(path, 4_000_000), left(path, process.pid), ...kept])
      await writeFile(join(folder, one), 'x');
    await run(sink, { path }, [[{ a: 2 }]]);
    expect((await readdir(folder)).sort()).toEqual([...kept, path].sort());
  });
});

describe('one Parquet file that takes the place of another', () => {
  const config = { destination: { type: 'local_path', path: 'out.parquet' } };
  const bytes = () => readFile(join(folder, 'out.parquet'));

  it.each<FinishReason>(['failed', 'cancelled'])(
    'does not when the run is %s, unless that is asked for',
    async (reason) => {
      await run(parquetSink, config, [[{ a: 1 }]]);
      const old = await bytes();
      await run(parquetSink, config, [[{ a: 2 }]], { reason });
      expect((await bytes()).equals(old)).toBe(true);
      expect(await readdir(folder)).toEqual(['out.parquet']);
      await run(parquetSink, { ...config, on_failure: 'keep_partial' }, [[{ a: 2 }]], { reason });
      expect((await bytes()).equals(old)).toBe(false);
    },
  );
});
