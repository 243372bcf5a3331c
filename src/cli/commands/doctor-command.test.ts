import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encrypt } from '../../lib/crypto/encryption.ts';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-doctor-'));
  writeFileSync(path.join(cwd, 'in.jsonl'), '{"a":1}\n');
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function doctor(encryption: string): Promise<Done> {
  writeFileSync(
    path.join(cwd, 'd.yaml'),
    `version: 1\nname: t\npipeline:\n  source: { type: jsonl, config: { path: in.jsonl } }\n  sink: { type: jsonl, config: { path: out.jsonl } }\n` +
      `  state: { type: file, config: { path: state, encryption: ${encryption} } }\n`,
  );
  return runCommand(['doctor', 'd.yaml'], testWiring(parts), { cwd });
}

it('a bookmark that this document cannot read is reported before a run stumbles over it', async () => {
  mkdirSync(path.join(cwd, 'state'));
  writeFileSync(path.join(cwd, 'state', 't%3A%3Arow-0.json'), encrypt('old', Buffer.from('7')));
  const rotated = await doctor('{ key: new }');
  expect(rotated.code).toBe(1);
  expect(rotated.out).toContain('pass  state file: sentinel');
  expect(rotated.out).toMatch(
    /fail {2}state file: bookmark {2}the state `t::row-0` cannot be read.*\n.*previous_keys/,
  );
  expect((await doctor('{ key: new, previous_keys: [old] }')).code).toBe(0);
});
