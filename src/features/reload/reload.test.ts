import { expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { ConfigError, RefusedError, AppError } from '../../lib/errors.ts';
import type { AuditEntry } from '../../wire/audit.ts';
import { createReload, type Reload, type SettingsFile } from './reload.ts';

const CALLER = { principal: 'ann', role: 'admin' } as const;

interface World {
  readonly reload: Reload;
  readonly audited: AuditEntry[];
  readonly changed: string[];
}

function world(files: Partial<Record<'defaultConfig' | 'auth', SettingsFile['load']>>): World {
  const audited: AuditEntry[] = [];
  const file = (path: string, load: SettingsFile['load']): SettingsFile => ({ path, load });
  const reload = createReload({
    env: testEnv(),
    audit: { record: async (entry) => void audited.push(entry) },
    ...(files.defaultConfig === undefined
      ? {}
      : { defaultConfig: file('base.yaml', files.defaultConfig) }),
    ...(files.auth === undefined ? {} : { auth: file('auth.yaml', files.auth) }),
  });
  return { reload, audited, changed: [] };
}

const results = ({ audited }: World): readonly unknown[] =>
  audited.map(({ principal, action, result }) => [principal, action, result]);

test('without a default document there is nothing to read, which is no error', async () => {
  const made = world({});
  expect(await made.reload(CALLER)).toEqual({
    reloaded: false,
    reason: 'the server was started without --default-config',
  });
  expect(results(made)).toEqual([['ann', 'config.reload', 'noop']]);
});

test('both files are read before either takes effect', async () => {
  const seen: string[] = [];
  const made = world({
    defaultConfig: async () => {
      seen.push('base read');
      return () => seen.push('base changed');
    },
    auth: async () => {
      seen.push('auth read');
      return () => seen.push('auth changed');
    },
  });
  expect(await made.reload(CALLER)).toEqual({
    reloaded: true,
    path: 'base.yaml',
    auth: { reloaded: true, path: 'auth.yaml' },
  });
  expect(seen).toEqual(['base read', 'auth read', 'base changed', 'auth changed']);
  expect(results(made)).toEqual([['ann', 'config.reload', 'ok']]);
});

test('one file with a fault leaves both as they were, and every fault is named', async () => {
  const changed: string[] = [];
  const issue = { code: 'unknown_key', path: 'pipelin', message: 'unknown key `pipelin`' };
  const made = world({
    defaultConfig: () => Promise.reject(new ConfigError([issue], { stage: 'parse' })),
    auth: async () => () => changed.push('auth'),
  });
  await expect(made.reload(CALLER)).rejects.toMatchObject({ stage: 'validate', issues: [issue] });
  const both = world({
    defaultConfig: () => Promise.reject(new ConfigError([issue])),
    auth: () => Promise.reject(new AppError('bad_option', 'auth.yaml cannot be read')),
  });
  await expect(both.reload(CALLER)).rejects.toMatchObject({
    issues: [issue, { code: 'bad_option', message: 'auth.yaml cannot be read' }],
  });
  expect(changed).toEqual([]);
  expect(results(made)).toEqual([['ann', 'config.reload', 'rejected']]);
});

test('a file that cannot be read is a refusal with its hint; a fault of ours is not hidden', async () => {
  const unreadable = new AppError('bad_option', 'it does not exist', { hint: 'check the path' });
  const missing = world({ auth: () => Promise.reject(unreadable) }).reload(CALLER);
  await expect(missing).rejects.toBeInstanceOf(RefusedError);
  await expect(missing).rejects.toMatchObject({ code: 'unprocessable', hint: 'check the path' });
  const bug = new TypeError('a bug');
  await expect(world({ auth: () => Promise.reject(bug) }).reload(CALLER)).rejects.toBe(bug);
});

test('two at once are carried out one after the other, and a failed one does not stop the next', async () => {
  const seen: string[] = [];
  let turn = 0;
  const { reload } = world({
    defaultConfig: async () => {
      const mine = (turn += 1);
      seen.push(`begin ${mine}`);
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`end ${mine}`);
      if (mine === 1) throw new ConfigError([]);
      return () => {};
    },
  });
  const [first, second] = await Promise.allSettled([reload(CALLER), reload(CALLER)]);
  expect([first.status, second.status]).toEqual(['rejected', 'fulfilled']);
  expect(seen).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2']);
});
