import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { testEnv } from '../../../../test/fakes/env.ts';
import { JSON_RULES } from './line-rules.ts';
import { blankTornEnd, type LineRules } from './torn-end.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-torn-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function blanked(content: string, rules: LineRules = JSON_RULES): Promise<string> {
  const path = join(folder, 'queue.jsonl');
  writeFileSync(path, content);
  const { log } = testEnv({ cwd: folder });
  await blankTornEnd(rules, { path, codec: 'none', log, signal: new AbortController().signal });
  return readFileSync(path, 'utf8');
}

test.each([
  ['', ''],
  ['{"a":1}\n', '{"a":1}\n'],
  ['{"a":1}\n{"b":2}', '{"a":1}\n{"b":2}\n'],
  ['{"a":1}\n{"b":', '{"a":1}\n     \n'],
  ['{"b":', '     \n'],
  ['{"a":1}\n{"b":\n', '{"a":1}\n{"b":\n'],
])('%j becomes %j', async (content, expected) => {
  expect(await blanked(content)).toBe(expected);
});

test('a line that another process was writing stays, with those behind it', async () => {
  const rules: LineRules = {
    ...JSON_RULES,
    // Asked of each line start: here the other one ends its write.
    startsRecord: () => {
      if (!readFileSync(join(folder, 'queue.jsonl'), 'utf8').includes('"c"'))
        appendFileSync(join(folder, 'queue.jsonl'), '2}\n{"c":3}\n');
      return true;
    },
  };
  const left = await blanked('{"a":1}\n{"b":', rules);
  expect(left).toBe('{"a":1}\n{"b":2}\n{"c":3}\n\n');
});
