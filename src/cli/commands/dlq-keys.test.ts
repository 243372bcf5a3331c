import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encrypt } from '../../lib/crypto/encryption.ts';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-dlq-keys-'));
  const letter = JSON.stringify({ reason: 'quality', payload: { id: 1 }, error: 'too small' });
  const sealed = encrypt('key-one', Buffer.from(letter));
  writeFileSync(path.join(cwd, 'dead.jsonl'), `${Buffer.from(sealed).toString('base64')}\n`);
});
afterEach(() => rmSync(cwd, { recursive: true }));

function inspect(...args: string[]): Promise<Done> {
  const words = ['dlq', 'inspect', 'dead.jsonl', '--json', ...args];
  return runCommand(words, testWiring(parts), { cwd, variables: { K: 'key-one' } });
}

it('an encrypted queue is read with a key of the environment, or of the command line', async () => {
  const read = await inspect('--key-env', 'K');
  expect(JSON.parse(read.out)).toMatchObject({ undecryptable: 0, malformed: 0 });
  expect(await inspect('--encryption-key', 'wrong', '--encryption-key', 'key-one')).toEqual(read);
  const { out, err } = await inspect('--encryption-key', 'wrong-key');
  expect(out + err).not.toEqual(read.out);
  expect(out + err).not.toContain('wrong-key');
});
