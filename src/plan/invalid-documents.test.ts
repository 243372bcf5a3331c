import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ISSUES } from '../document/parse/issues.ts';
import { plan, refusalOf } from '../../test/fakes/documents.ts';

/** Documents that must be refused, each beside what is to be said about it. */
const FOLDER = resolve(import.meta.dirname, '../../test/fixtures/documents/invalid');
const names = readdirSync(FOLDER).filter((name) => !name.endsWith('.issues.json'));

describe('an invalid document is refused with every issue, its place and a hint', () => {
  test.each(names)('%s', (name) => {
    const format = name.endsWith('.json') ? 'json' : 'yaml';
    const refusal = refusalOf(() =>
      plan(
        readFileSync(join(FOLDER, name), 'utf8'),
        {},
        { format, origin: { kind: 'file', path: name } },
      ),
    );
    const expected: unknown = JSON.parse(
      readFileSync(
        join(
          FOLDER,
          name.replace(/\.\w+$/, (extension) => `${extension}.issues.json`),
        ),
        'utf8',
      ),
    );
    expect({ stage: refusal.stage, issues: refusal.issues }).toEqual(expected);
    for (const issue of refusal.issues) expect(Object.keys(ISSUES)).toContain(issue.code);
  });
});
