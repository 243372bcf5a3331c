/** The fixtures were written by pyarrow, with checksums and without compression. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failureOf } from '../../../../test/fakes/failure.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { ParquetReader } from './parquet-reader.ts';

async function records(bytes: Buffer, columns?: readonly string[]): Promise<JsonObject[]> {
  const { signal } = new AbortController();
  const options = { path: 'f.parquet', signal, omitNulls: false, columns };
  const reader = await ParquetReader.ofBytes(bytes, options);
  const rows: JsonObject[] = [];
  for await (const some of reader.rowGroup(0)) rows.push(...some);
  return rows;
}

describe.each(['checksums', 'checksums-v2'])('%s.parquet', (name) => {
  const whole = () => readFile(join(import.meta.dirname, 'fixtures', `${name}.parquet`));

  it('is read when its pages are those that were written', async () => {
    expect(await records(await whole())).toEqual([
      { id: 1, name: 'ab', l: [1, 2] },
      { id: 2, name: 'cd', l: [] },
      { id: 3, name: 'ef', l: null },
      { id: 4, name: 'gh', l: [3] },
    ]);
  });

  it.each([
    ['id', Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 4]), 'a number'],
    ['name', Buffer.from('ef'), 'a text of the dictionary'],
  ])(
    'a column %s with one other bit is refused, though it can be decoded',
    async (column, found) => {
      const bytes = await whole();
      const at = bytes.indexOf(found);
      expect(at).toBeGreaterThan(0);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      const failure = await failureOf(records(bytes));
      expect(failure.message).toMatch(
        new RegExp(
          `^cannot read f.parquet as Parquet: a page of the column "${column}" is damaged: what stands at byte \\d+ is not what its checksum says$`,
        ),
      );
      const others = ['id', 'name', 'l'].filter((one) => one !== column);
      expect(await records(bytes, others)).toHaveLength(4);
    },
  );
});

it('a page of less than no bytes is damage, in a file on the disk too', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'page-checksums-'));
  const path = join(folder, 'f.parquet');
  try {
    const bytes = await readFile(join(import.meta.dirname, 'fixtures', 'checksums.parquet'));
    // The fields of the first header behind its type: both sizes, each one byte that ends in its sign.
    expect([bytes[4], bytes[6], bytes[8]]).toEqual([0x15, 0x15, 0x15]);
    bytes[9] = (bytes[9] ?? 0) | 1;
    await writeFile(path, bytes);
    const { signal } = new AbortController();
    const reader = await ParquetReader.open({ path, signal, omitNulls: false });
    const failure = await failureOf(reader.rowGroup(0).next());
    await reader.close();
    expect(failure).toMatchObject({
      kind: 'data',
      message: `cannot read ${path} as Parquet: the column "id" is damaged`,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
