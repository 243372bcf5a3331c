import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ConfigError } from '../lib/errors.ts';
import { createLog } from '../lib/log.ts';
import { Redactor } from '../lib/redact.ts';
import { loadAuth, type AuthFlags } from './auth-settings.ts';
import { fakeClock } from './server-fixture.ts';

async function setting(content?: string, variables: Record<string, string> = {}) {
  const cwd = await mkdtemp(join(tmpdir(), 'headgate-auth-'));
  if (content !== undefined) await writeFile(join(cwd, 'auth.yaml'), content);
  const redactor = new Redactor();
  const logged: string[] = [];
  const log = createLog({ level: 'info', target: 'headgate', clock: fakeClock(), redactor, write: ({ line }) => logged.push(line) });
  const env = { cwd, variables, redactor, log };
  const flags: AuthFlags = content === undefined ? {} : { authConfig: 'auth.yaml' };
  return { env, logged, redactor, cwd, flags };
}

async function issuesOf(content: string, variables: Record<string, string> = {}) {
  const { env, flags } = await setting(content, variables);
  const error: unknown = await loadAuth(flags, env).catch((reason: unknown) => reason);
  if (!(error instanceof ConfigError)) throw new Error(`not refused: ${String(error)}`);
  return error.issues.map(({ code, path }) => `${code} ${path}`.trim());
}

test.each<[string, AuthFlags, string]>([
  ['no choice at all', {}, 'no way to authenticate was chosen'],
  ['two modes', { noAuth: true, authToken: 'secret' }, '--no-auth and --auth-token exclude each other'],
  ['a token beside the trio', { authToken: 'a-token', readToken: 'b-token' }, '--auth-token and --read-token exclude each other'],
  ['a file beside the trio', { authConfig: 'x', adminToken: 'b-token' }, '--auth-config and --admin-token exclude each other'],
  ['an empty token', { authToken: '' }, '--auth-token is empty'],
  ['a blank token', { authToken: '  ' }, '--auth-token is empty'],
  ['an empty token of the trio', { readToken: 'r-token', writeToken: '' }, '--write-token is empty'],
  ['one token for two roles', { readToken: 'same', adminToken: 'same' }, '--admin-token is the same token as --read-token'],
])('%s refuses the start', async (_, flags, message) => {
  const { env } = await setting();
  await expect(loadAuth(flags, env)).rejects.toMatchObject({ code: 'bad_option', message });
});

test('a single token is an administrator called token', async () => {
  const { env, redactor } = await setting();
  const authenticate = await loadAuth({ authToken: 'sesame' }, env);
  expect(authenticate('Bearer sesame')).toEqual({ name: 'token', role: 'admin' });
  expect(() => authenticate('Bearer sesam')).toThrow('not known');
  expect(redactor.values()).toEqual(['sesame']);
});

test('any subset of the trio names its roles', async () => {
  const { env } = await setting();
  const authenticate = await loadAuth({ readToken: 'r-token', writeToken: 'w-token' }, env);
  expect(authenticate('Bearer r-token')).toEqual({ name: 'read', role: 'viewer' });
  expect(authenticate('Bearer w-token')).toEqual({ name: 'write', role: 'operator' });
});

test('without authentication everybody is an administrator, which is warned about on a network address', async () => {
  const { env, logged } = await setting();
  expect((await loadAuth({ noAuth: true }, env, '127.0.0.1'))(undefined)).toEqual({ name: 'anonymous', role: 'admin' });
  expect(logged).toEqual([]);
  await loadAuth({ noAuth: true }, env, '0.0.0.0');
  expect(logged).toEqual([expect.stringContaining('everybody who reaches it is an administrator')]);
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
  const authenticate = await loadAuth(flags, env);
  expect(authenticate('Bearer ann-token')).toEqual({ name: 'ann', role: 'admin' });
  expect(authenticate('Bearer bob-token')).toEqual({ name: 'bob', role: 'viewer' });
  expect(authenticate('Bearer x-ann-token-y')).toEqual({ name: 'cem', role: 'operator' });
  expect(() => authenticate('Bearer ${env:ANN}')).toThrow('not known');
  expect(redactor.values()).toContain('bob-token');
});

test('a file may be JSON', async () => {
  const { env, flags } = await setting('{"principals": [{"name": "ann", "token": "ann-token", "role": "admin"}]}');
  expect((await loadAuth(flags, env))('Bearer ann-token').name).toBe('ann');
});

test.each([
  ['no principals', 'principals: []', 'out_of_range principals'],
  ['nothing', '', 'wrong_type'],
  ['an unknown key', 'principals: [{name: a, token: t, role: admin, team: x}]', 'unknown_key principals[0].team'],
  ['an unknown role', 'principals: [{name: a, token: t, role: Admin}]', 'invalid_value principals[0].role'],
  ['an empty name', 'principals: [{name: "", token: t, role: admin}]', 'out_of_range principals[0].name'],
  ['an empty token', 'principals: [{name: a, token: "", role: admin}]', 'out_of_range principals[0].token'],
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
  ['a variable that is not set', 'principals: [{name: a, token: "${env:NOPE}", role: admin}]', 'unresolved_reference principals[0].token'],
  ['a file that is not there', 'principals: [{name: a, token: "${file:nope}", role: admin}]', 'unresolved_reference principals[0].token'],
  ['a reference of another kind', 'principals: [{name: a, token: "${vault:x}", role: admin}]', 'unresolved_reference principals[0].token'],
  ['a reference to nothing', 'principals: [{name: a, token: "${env:BLANK}", role: admin}]', 'unresolved_reference principals[0].token'],
  ['broken YAML', 'principals: [', 'syntax'],
])('a file with %s refuses the start', async (_, content, issue) => {
  expect(await issuesOf(content, { BLANK: '\n' })).toEqual([issue]);
});

test('a file that is not there refuses the start', async () => {
  const { env } = await setting();
  await expect(loadAuth({ authConfig: 'nowhere.yaml' }, env)).rejects.toMatchObject({ code: 'bad_option' });
});

test('a refusal of the file never repeats a token', async () => {
  const { env, flags } = await setting('principals: [{name: a, token: topsecret, role: admin}, {name: b, token: topsecret, role: admin}]');
  await expect(loadAuth(flags, env)).rejects.not.toThrow('topsecret');
  await expect(loadAuth(flags, env)).rejects.toThrow('already belongs to another principal');
});
