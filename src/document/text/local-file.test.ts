import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { loadDocument, loadDocumentFile } from '../load.ts';
import { ConfigError } from '../../lib/errors.ts';
import { Registry } from '../../kit/parts.ts';
import type { SecretManagerDefinition } from '../../kit/secrets.ts';
import { Redactor } from '../../lib/redact.ts';
import { localFiles } from './local-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-local-file-'));
execFileSync('mkfifo', [join(folder, 'pipe'), join(folder, 'pipe.yaml')]);
afterAll(() => rmSync(folder, { recursive: true }));

const options = {
  variables: {},
  redactor: new Redactor(),
  readFile: localFiles(folder),
  secretManagers: new Registry<SecretManagerDefinition>([]),
};

function issuesOf(load: () => unknown): readonly { code: string; message: string }[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
    throw error;
  }
  return [];
}

// Nobody writes to these pipes: a reader that opens them waits for ever, and the test with it.
it('refuses a pipe that a token names', () => {
  const text = 'pipeline: {name: "${file:pipe}"}';
  const load = (): unknown =>
    loadDocument(text, { ...options, format: 'yaml', origin: { kind: 'submitted' } });
  expect(issuesOf(load)).toMatchObject([
    {
      code: 'file_unreadable',
      message: 'the file `pipe` of `${file:pipe}` cannot be read: it is a pipe, not a regular file',
      hint: 'name a regular file',
    },
  ]);
});

it.each(['extends: pipe.yaml', '!include pipe.yaml'])('refuses a pipe named by `%s`', (text) => {
  const named = join(folder, 'named');
  const readFile = (path: string, limit: number): Uint8Array =>
    path === `${named}.yaml` ? Buffer.from(text) : options.readFile(path, limit);
  const load = (): unknown => loadDocumentFile(`${named}.yaml`, { ...options, readFile });
  expect(issuesOf(load)).toMatchObject([
    { message: expect.stringContaining('it is a pipe, not a regular file') },
  ]);
});
