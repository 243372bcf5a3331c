/** A long row with threads beside it cannot be told from the same row without. */
import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { headgate } from './headgate.ts';

const ROWS = 400_000;

let cwd: string;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-threads-'));
  await pipeline(Readable.from(lines()), createWriteStream(join(cwd, 'in.csv')));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/**
 * About 36 MB: four times as much as is read before threads are started. Some cells hold line ends,
 * some break the contract.
 */
function* lines(): Generator<string> {
  yield 'id,name,mail,note\n';
  for (let from = 0; from < ROWS; from += 1000) {
    const rows = Array.from({ length: 1000 }, (_, index) => {
      const id = from + index;
      const name = id % 5000 === 0 ? '' : `Person ${id}`;
      return `${id},${name},p${id}@example.com,"line one of ${id}\nand, ""two"" of a longer note, é"\n`;
    });
    yield rows.join('');
  }
}

async function run(threads: number) {
  const name = `t${threads}`;
  writeFileSync(
    join(cwd, `${name}.yaml`),
    `version: 1
name: people
pipeline:
  source: { type: csv, config: { path: in.csv } }
  transforms:
    - { type: cast, config: { fields: { id: int } } }
    - { type: filter, config: { path: id, op: not_in, value: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] } }
  masking: { rules: [{ match: { fields: [mail] }, action: { type: hash } }] }
  contract: { version: "1", on_breach: quarantine, fields: [{ name: name, type: string, min_length: 1 }] }
  dlq: { sink: { type: jsonl, config: { path: ${name}.dead.jsonl } } }
  sink: { type: jsonl, config: { path: ${name}.jsonl } }
`,
  );
  const { code, stdout, stderr } = await headgate(
    ['run', `${name}.yaml`, '--threads', String(threads), '--quiet', '--output', 'json'],
    {
      cwd,
    },
  );
  expect(stderr).toBe('');
  const [row] = (JSON.parse(stdout) as { rows: Record<string, unknown>[] }).rows;
  return {
    code,
    row: { lane: row?.['lane'], balance: row?.['balance'] },
    output: await digest(`${name}.jsonl`),
    dead: letters(`${name}.dead.jsonl`),
  };
}

async function digest(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(join(cwd, file)), hash);
  return hash.digest('hex');
}

/** Without what differs between any two runs. */
function letters(file: string): unknown[] {
  const text = readFileSync(join(cwd, file), 'utf8').trimEnd();
  return text.split('\n').map((line) => {
    const { ts_ms: _time, sink: _sink, ...letter } = JSON.parse(line) as Record<string, unknown>;
    return letter;
  });
}

it('threads change nothing that is written, put aside or counted', async () => {
  const alone = await run(0);
  expect(alone).toMatchObject({
    code: 0,
    row: { lane: 'columns', balance: { read: ROWS, filtered: 10, dead_lettered: ROWS / 5000 } },
  });
  expect(alone.dead).toHaveLength(ROWS / 5000);
  expect(alone.dead[1]).toMatchObject({
    record_number: 5001,
    payload: { id: 5000 },
    original: { id: '5000', name: '' },
  });
  expect(await run(3)).toEqual(alone);
});
