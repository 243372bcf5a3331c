import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadOptions, refusalOf } from '../../test/fakes/documents.ts';
import { FAKE_PARTS } from '../../test/fakes/parts.ts';
import type { ConfigError } from '../lib/errors.ts';
import { planDocument } from '../plan/plan-document.ts';
import { ISSUES } from './parse/issues.ts';
import { loadDocumentFile } from './load.ts';
import { localFiles } from './text/local-file.ts';

/**
 * Folders with a document made of several files that must be refused, and what is to be said about
 * it.
 */
const FOLDER = resolve(import.meta.dirname, '../../test/fixtures/documents/composed');

function refusalFor(name: string): ConfigError {
  const folder = join(FOLDER, name);
  const main =
    ['main.yaml', 'main.json'].map((file) => join(folder, file)).find((file) => existsSync(file)) ??
    '';
  return refusalOf(() => {
    const options = { ...loadOptions({ readFile: localFiles(folder) }), profile: 'test' };
    const document = loadDocumentFile(
      main,
      name === 'include-not-yaml' ? loadOptions({ readFile: localFiles(folder) }) : options,
    );
    planDocument(document, FAKE_PARTS, { cpus: 4 });
  });
}

describe('a document of several files is refused with every issue, in its file', () => {
  test.each(readdirSync(FOLDER))('%s', (name) => {
    const { stage, issues } = refusalFor(name);
    const reported = issues.map((issue) => ({
      ...issue,
      file: relative(join(FOLDER, name), issue.file ?? ''),
    }));
    expect({ stage, issues: reported }).toEqual(
      JSON.parse(readFileSync(join(FOLDER, name, 'issues.json'), 'utf8')),
    );
    for (const issue of issues) expect(Object.keys(ISSUES)).toContain(issue.code);
  });
});
