/**
 * Rows of one matrix that name one file to replace: nothing that a row has written is destroyed by
 * another.
 */
import { afterAll, expect, it } from 'vitest';
import { makeFolder } from './folder.ts';

const folder = makeFolder('shared-file');
afterAll(() => folder.remove());

const PIPELINE = {
  source: { type: 'jsonl', config: { path: 'in.jsonl' } },
  sink: { type: 'jsonl', config: { path: 'out.jsonl' } },
};
const RECORDS = [{ id: 1 }, { id: 2 }];

it('the second row to come fails, and the file of the first stays whole', async () => {
  folder.records('in.jsonl', RECORDS);
  folder.document('clash.json', PIPELINE, {
    matrix: [{ id: 'a' }, { id: 'b', depends_on: ['a'] }],
  });
  const validated = await folder.run(['validate', 'clash.json']);
  expect(validated.code).toBe(0);
  expect(validated.stderr).toContain('row `b` and row `a` write the same file `out.jsonl`');
  const run = await folder.run(['run', 'clash.json']);
  expect(run.code).toBe(1);
  expect(run.stderr).toContain(
    'row `b` would replace `out.jsonl`, which row `a` writes in this run',
  );
  expect(folder.lines('out.jsonl')).toEqual(RECORDS);
});

it('a row that fails before it writes, or is skipped, stands in nobody’s way', async () => {
  folder.records('in.jsonl', RECORDS);
  const matrix = [
    { id: 'a', source: { config: { path: 'missing.jsonl' } } },
    { id: 'b', depends_on: ['a'] },
    { id: 'c' },
  ];
  folder.document('skipped.json', PIPELINE, { matrix, execution: { max_concurrent: 1 } });
  const run = await folder.run(['run', 'skipped.json', '--output', 'json']);
  expect(run.code).toBe(1);
  expect(run.stderr).not.toContain('would replace');
  expect(folder.lines('out.jsonl')).toEqual(RECORDS);
});
