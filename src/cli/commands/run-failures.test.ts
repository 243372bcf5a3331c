import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCommand, testWiring } from '../../../test/support/cli.ts';
import { parts } from '../../parts.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-failures-'));
  writeFileSync(path.join(cwd, 'headgate.yaml'), DOCUMENT);
});
afterEach(() => rmSync(cwd, { recursive: true }));

const DOCUMENT = `version: 1
name: p
pipeline:
  source: { type: csv, config: { path: gone.csv } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

const cli = (...line: string[]) => runCommand(line, testWiring(parts), { cwd });

it.each([['--quiet'], ['--output', 'json'], ['--output', 'ndjson'], ['--threads', '0']])(
  'a failure is printed once (`run %s %s`), with its code, its place and what to do',
  async (...options: string[]) => {
    const { code, err } = await cli('run', ...options);
    expect(code).toBe(1);
    expect(err.match(/it does not exist/g)).toHaveLength(1);
    expect(err).toMatch(
      /^error: row row-0: source `csv`: cannot read .*gone\.csv: it does not exist {2}\[connector_missing\]\nat: pipeline\.source, line 4 of .*headgate\.yaml\nhint: check the path/m,
    );
  },
);

it('a failure of `preview` tells its place in the document', async () => {
  const { code, err } = await cli('preview');
  expect(code).toBe(1);
  expect(err).toMatch(
    /^error: .*\[connector_missing\]\nat: pipeline\.source, line 4 of .*\nhint: check the path.*\n$/,
  );
});
