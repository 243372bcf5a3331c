import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { Registry } from '../../kit/parts.ts';
import { SECRET_MANAGERS } from '../../secrets/index.ts';
import { ConfigError } from '../../lib/errors.ts';
import { loadAuth, type AuthFlags } from './auth-settings.ts';

async function setting(content?: string, variables: Record<string, string> = {}) {
  const cwd = await mkdtemp(join(tmpdir(), 'headgate-auth-'));
  if (content !== undefined) await writeFile(join(cwd, 'auth.yaml'), content);
  const env = { ...testEnv({ cwd, variables }), secretManagers: new Registry(SECRET_MANAGERS) };
  const flags: AuthFlags = content === undefined ? {} : { authConfig: 'auth.yaml' };
  return { env, redactor: env.redactor, cwd, flags };
}

async function issuesOf(content: string, variables: Record<string, string> = {}) {
  const { env, flags } = await setting(content, variables);
  try {
    loadAuth(flags, env);
  } catch (error) {
    if (error instanceof ConfigError)
      return error.issues.map(({ code, path }) => `${code} ${path}`.trim());
    throw error;
  }
  throw new Error('not refused');
}

test('says at the start which token nobody can send', async () => {
  const { env } = await setting();
  const warned: unknown[] = [];
  const log = { ...env.log, warn: (text: string, fields?: object) => warned.push([text, fields]) };
  loadAuth(
    { readToken: 'fine-é', writeToken: ' spaces ', adminToken: 'two\nlines' },
    { ...env, log },
  );
  expect(warned).toMatchObject([
    [expect.stringContaining('nobody can send'), { principal: 'write' }],
    [expect.stringContaining('nobody can send'), { principal: 'admin' }],
  ]);
  expect(JSON.stringify(warned)).not.toContain('lines');
});

test.each<[string, AuthFlags, string]>([
  ['no choice at all', {}, 'no way to authenticate was chosen'],
  [
    'two modes',
    { noAuth: true, authToken: 'secret' },
    '--no-auth and --auth-token exclude each other',
  ],
  [
    'a token beside the trio',
    { authToken: 'a-token', readToken: 'b-token' },
    '--auth-token and --read-token exclude each other',
  ],
  [
    'a file beside the trio',
    { authConfig: 'x', adminToken: 'b-token' },
    '--auth-config and --admin-token exclude each other',
  ],
  ['an empty token', { authToken: '' }, '--auth-token is empty'],
  ['a blank token', { authToken: '  ' }, '--auth-token is empty'],
  [
    'an empty token of the trio',
    { readToken: 'r-token', writeToken: '' },
    '--write-token is empty',
  ],
  [
    'one token for two roles',
    { readToken: 'same', adminToken: 'same' },
    '--admin-token is the same token as --read-token',
  ],
])('%s refuses the start', async (_, flags, message) => {
  const { env } = await setting();
  expect(() => loadAuth(flags, env)).toThrow(
    expect.objectContaining({ code: 'bad_option', message }),
  );
});

test('a single token is an administrator called token', async () => {
  const { env, redactor } = await setting();
  const authenticate = loadAuth({ authToken: 'sesame' }, env);
  expect(authenticate('Bearer sesame')).toEqual({ name: 'token', role: 'admin' });
  expect(() => authenticate('Bearer sesam')).toThrow('not known');
  expect(redactor.values()).toEqual(['sesame']);
});

test('any subset of the trio names its roles', async () => {
  const { env } = await setting();
  const authenticate = loadAuth({ readToken: 'r-token', writeToken: 'w-token' }, env);
  expect(authenticate('Bearer r-token')).toEqual({ name: 'read', role: 'viewer' });
  expect(authenticate('Bearer w-token')).toEqual({ name: 'write', role: 'operator' });
});

test('without authentication everybody is an administrator, which is warned about on a network address', async () => {
  const { env } = await setting();
  expect(loadAuth({ noAuth: true }, env, '127.0.0.1')(undefined)).toEqual({
    name: 'anonymous',
    role: 'admin',
  });
  expect(env.lines).toEqual([]);
  loadAuth({ noAuth: true }, env, '0.0.0.0');
  expect(env.lines.map(({ line }) => line)).toEqual([
    expect.stringContaining('everybody who reaches it is an administrator'),
  ]);
});

test('a file names principals, with references filled in and a trailing newline dropped', async () => {
  const { env, flags, cwd, redactor } = await setting(
    'principals:\n' +
      '  - {name: ann, token: "${env:ANN}", role: admin}\n' +
      '  - {name: bob, token: "${file:bob.token}", role: viewer}\n' +
      '  - {name: cem, token: "x-${env:ANN}-y", role: operator}\n',
    { ANN: 'ann-token' },
  );
  await writeFile(join(cwd, 'bob.token'), 'bob-token\n');
  const authenticate = loadAuth(flags, env);
  expect(authenticate('Bearer ann-token')).toEqual({ name: 'ann', role: 'admin' });
  expect(authenticate('Bearer bob-token')).toEqual({ name: 'bob', role: 'viewer' });
  expect(authenticate('Bearer x-ann-token-y')).toEqual({ name: 'cem', role: 'operator' });
  expect(() => authenticate('Bearer ${env:ANN}')).toThrow('not known');
  expect(redactor.values()).toContain('bob-token');
});

test('a file may be JSON', async () => {
  const { env, flags } = await setting(
    '{"principals": [{"name": "ann", "token": "ann-token", "role": "admin"}]}',
  );
  expect(loadAuth(flags, env)('Bearer ann-token').name).toBe('ann');
});

test.each([
  ['no principals', 'principals: []', 'out_of_range principals'],
  ['nothing', '', 'empty_document'],
  [
    'an unknown key',
    'principals: [{name: a, token: t, role: admin, team: x}]',
    'unknown_key principals[0].team',
  ],
  [
    'an unknown role',
    'principals: [{name: a, token: t, role: Admin}]',
    'invalid_value principals[0].role',
  ],
  [
    'an empty name',
    'principals: [{name: "", token: t, role: admin}]',
    'out_of_range principals[0].name',
  ],
  [
    'an empty token',
    'principals: [{name: a, token: "", role: admin}]',
    'out_of_range principals[0].token',
  ],
  [
    'one name twice',
    'principals: [{name: a, token: t, role: admin}, {name: a, token: u, role: admin}]',
    'duplicate_name principals[1].name',
  ],
  [
    'one token twice',
    'principals: [{name: a, token: t, role: admin}, {name: b, token: t, role: viewer}]',
    'duplicate_token principals[1].token',
  ],
  [
    'a variable that is not set',
    'principals: [{name: a, token: "${env:NOPE}", role: admin}]',
    'missing_variable principals[0].token',
  ],
  [
    'a file that is not there',
    'principals: [{name: a, token: "${file:nope}", role: admin}]',
    'file_unreadable principals[0].token',
  ],
  [
    'a reference of another kind',
    'principals: [{name: a, token: "${vault:x}", role: admin}]',
    'token_out_of_scope principals[0].token',
  ],
  [
    'a run-time token',
    'principals: [{name: a, token: "${now.date}", role: admin}]',
    'unknown_token principals[0].token',
  ],
  [
    'a reference to nothing',
    'principals: [{name: a, token: "${env:BLANK}", role: admin}]',
    'out_of_range principals[0].token',
  ],
  ['broken YAML', 'principals: [', 'bad_yaml'],
])('a file with %s refuses the start', async (_, content, issue) => {
  expect(await issuesOf(content, { BLANK: '\n' })).toEqual([issue]);
});

test('a file that is not there refuses the start', async () => {
  const { env } = await setting();
  expect(() => loadAuth({ authConfig: 'nowhere.yaml' }, env)).toThrow(
    expect.objectContaining({ code: 'bad_option' }),
  );
});

test('a refusal of the file never repeats a token', async () => {
  const { env, flags } = await setting(
    'principals: [{name: a, token: topsecret, role: admin}, {name: b, token: topsecret, role: admin}]',
  );
  expect(() => loadAuth(flags, env)).toThrow('auth.yaml: principals[1].token (line 1, column');
  expect(() => loadAuth(flags, env)).not.toThrow('topsecret');
});
