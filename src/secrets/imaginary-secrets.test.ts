/** A secrets manager that nothing else knows: its definition and its place in the list are all. */
import { expect, test } from 'vitest';
import { loadOptions, issuesOf } from '../../test/fakes/documents.ts';
import { testEnv } from '../../test/fakes/env.ts';
import { loadDocument, loadWithSecrets } from '../document/load.ts';
import { secretAsker } from '../document/tokens/ask-secrets.ts';
import { Registry } from '../kit/parts.ts';
import { defineSecretManager } from '../kit/secrets.ts';
import { SECRET_MANAGERS } from './index.ts';

/** Names a box and a version, and its fields come first. */
const safe = defineSecretManager({
  type: 'safe',
  description: 'Boxes behind a steel door.',
  form: '[<field> of ]<box>@<version>',
  parse: (text) => {
    const [, field, name] = /^(?:(\w+) of )?(\w+@\d+)$/.exec(text) ?? [];
    if (name === undefined) return undefined;
    return field === undefined ? { name } : { name, field };
  },
  settings: [{ name: 'SAFE_CODE', description: 'What opens the door.' }],
  open: ({ env }) =>
    Promise.resolve({
      read: (name) => Promise.resolve({ code: `${env.variables['SAFE_CODE']} ${name}` }),
      close: () => Promise.resolve(),
    }),
});

const managers = new Registry([...SECRET_MANAGERS, safe]);
const text = (value: string): string => JSON.stringify({ version: 1, name: value });
const options = (keepSecrets = false) =>
  loadOptions({ secretManagers: managers, keepSecrets, secrets: new Map() });

test('is asked for what its own grammar names, and the value is redacted', async () => {
  const given = options();
  const env = testEnv({ variables: { SAFE_CODE: 'opensesame' } });
  const { tree } = await loadWithSecrets(
    text('x ${safe:code of gold@7}'),
    given,
    secretAsker({ managers, env }),
  );
  expect(tree['name']).toBe('x opensesame gold@7');
  expect(given.redactor.text('a opensesame gold@7 b')).toBe('a *** b');
});

test('says how its tokens are written, and is found when it is misspelt', () => {
  const load = (value: string) => () => loadDocument(text(value), options());
  expect(issuesOf(load('${safe:gold}'))).toEqual(['invalid_token name']);
  expect(load('${safe:gold}')).toThrow('write `${safe:[<field> of ]<box>@<version>}`');
  expect(load('${saef:gold@7}')).toThrow('did you mean `safe`?');
});

test('is left alone by whoever must touch no secret', () => {
  const { tree } = loadDocument(text('${safe:gold@7}'), options(true));
  expect(tree['name']).toBe('${safe:gold@7}');
});
