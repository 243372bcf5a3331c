import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { testEnv } from '../../test/fakes/env.ts';
import {
  AUTHORITY_FILE,
  AWS_SECRET_KEY,
  startAws,
  startAzure,
  startAzureIdentity,
  startGcp,
  startVault,
  VAULT_TOKEN,
  type FakeManager,
  type Held,
} from '../../test/fakes/secret-managers.ts';
import type { SecretManagerDefinition } from '../kit/secrets.ts';
import { ConnectorError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { awsSecretsManager } from './aws-sm.ts';
import { azureKeyVault } from './azure-kv.ts';
import { gcpSecretManager } from './gcp-sm.ts';
import { SECRET_MANAGERS } from './index.ts';
import { vault } from './vault.ts';
import { loadClient } from '../lib/load-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-secrets-'));
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const trusted = getCACertificates('default');

let identity: FakeManager;
beforeAll(async () => {
  setDefaultCACertificates([...trusted, readFileSync(AUTHORITY_FILE, 'utf8')]);
  identity = await startAzureIdentity();
});
afterAll(async () => {
  setDefaultCACertificates(trusted);
  await identity[Symbol.asyncDispose]();
});
afterEach(() => vi.unstubAllEnvs());

interface Case {
  readonly definition: SecretManagerDefinition;
  start(held: Held): Promise<FakeManager>;
  readonly good: string;
  readonly value: string | JsonObject;
  readonly denied: string;
  readonly broken: string;
  readonly absent: string;
  readonly held: Held;
}

const held = (good: string, value: string | JsonObject, denied: string, broken: string): Held => ({
  [good]: value,
  [denied]: 403,
  [broken]: 500,
});

const gcp = (name: string): string => `projects/p/secrets/${name}/versions/latest`;
const CASES: readonly Case[] = [
  {
    definition: vault,
    start: startVault,
    good: 'secret/data/a b/ü',
    value: { user: 'me', nested: { deep: [1, null] } },
    denied: 'secret/data/denied',
    broken: 'secret/data/broken',
    absent: 'secret/data/none',
    held: held(
      'secret/data/a b/ü',
      { user: 'me', nested: { deep: [1, null] } },
      'secret/data/denied',
      'secret/data/broken',
    ),
  },
  {
    definition: awsSecretsManager,
    start: startAws,
    good: 'prod/db',
    value: 'pässword',
    denied: 'denied',
    broken: 'broken',
    absent: 'none',
    held: held('prod/db', 'pässword', 'denied', 'broken'),
  },
  {
    definition: gcpSecretManager,
    start: (secrets) => startGcp(secrets, { write }),
    good: gcp('db'),
    value: 'pässword\n',
    denied: gcp('denied'),
    broken: gcp('broken'),
    absent: gcp('none'),
    held: held(gcp('db'), 'pässword\n', gcp('denied'), gcp('broken')),
  },
  {
    definition: azureKeyVault,
    start: startAzure,
    good: 'team/db',
    value: 'pässword',
    denied: 'team/denied',
    broken: 'team/broken',
    absent: 'team/none',
    held: held('db', 'pässword', 'denied', 'broken'),
  },
];

async function read(
  definition: SecretManagerDefinition,
  variables: Readonly<Record<string, string>>,
  name: string,
  env = testEnv({ variables }),
) {
  // The login of some vendors is found by their own libraries, in the environment of the process.
  for (const [key, value] of Object.entries({ ...identity.variables, ...variables }))
    vi.stubEnv(key, value);
  const manager = await definition.open({ env });
  try {
    return await manager.read(name, new AbortController().signal);
  } finally {
    await manager.close();
  }
}

async function failure(...args: Parameters<typeof read>): Promise<ConnectorError> {
  try {
    await read(...args);
  } catch (error) {
    if (error instanceof ConnectorError) return error;
    throw error;
  }
  throw new Error('nothing failed');
}

describe.each(CASES)('$definition.type', (one) => {
  it('gives the value of a secret, as it is', async () => {
    await using manager = await one.start(one.held);
    expect(await read(one.definition, manager.variables, one.good)).toEqual(one.value);
  });

  it('tells what is not there from what may not be read and from what fails', async () => {
    await using manager = await one.start(one.held);
    expect((await failure(one.definition, manager.variables, one.absent)).kind).toBe('missing');
    const denied = await failure(one.definition, manager.variables, one.denied);
    expect([denied.kind, denied.hint]).toEqual(['auth', expect.any(String)]);
    expect((await failure(one.definition, manager.variables, one.broken)).kind).toBe('http_5xx');
  });

  it('tells that nobody is there', async () => {
    const manager = await one.start(one.held);
    await manager[Symbol.asyncDispose]();
    expect((await failure(one.definition, manager.variables, one.good)).kind).toBe('connection');
  });
});

it('is sorted, and each says how it is set up', () => {
  const types = SECRET_MANAGERS.map(({ type }) => type);
  expect(types).toEqual([...types].sort());
  for (const { settings } of SECRET_MANAGERS)
    expect(
      settings.every(
        ({ name, description }) => /^[A-Z_]+$/.test(name) && description.endsWith('.'),
      ),
    ).toBe(true);
});

describe('gcp-sm', () => {
  it('says that nobody is logged in, and leaves no failure behind that nobody awaits', async () => {
    const left: unknown[] = [];
    const listen = (error: unknown): unknown => left.push(error);
    process.on('unhandledRejection', listen);
    try {
      const variables = { GOOGLE_APPLICATION_CREDENTIALS: join(folder, 'nowhere.json') };
      expect(await failure(gcpSecretManager, variables, gcp('db'))).toMatchObject({
        kind: 'auth',
        hint: expect.any(String) as string,
      });
      await new Promise((done) => setImmediate(done));
      expect(left).toEqual([]);
    } finally {
      process.off('unhandledRejection', listen);
    }
  });
});

describe('vault', () => {
  it('sends token and namespace, and hides the token', async () => {
    await using manager = await startVault({ 'kv/data/a': { x: 1 } });
    const env = testEnv({ variables: manager.variables });
    await read(vault, manager.variables, 'kv/data/a', env);
    expect(manager.server.requests[0]?.headers).toMatchObject({
      'x-vault-token': VAULT_TOKEN,
      'x-vault-namespace': 'team',
    });
    expect(env.redactor.text(`it was ${VAULT_TOKEN}`)).toBe('it was ***');
  });

  it('says which variable is missing or wrong', async () => {
    expect(await failure(vault, {}, 'a')).toMatchObject({
      kind: 'auth',
      message: expect.stringContaining('VAULT_ADDR') as string,
    });
    expect(await failure(vault, { VAULT_ADDR: 'http://127.0.0.1:1' }, 'a')).toMatchObject({
      kind: 'auth',
      message: expect.stringContaining('VAULT_TOKEN') as string,
    });
    expect(await failure(vault, { VAULT_ADDR: 'vault:8200', VAULT_TOKEN }, 'a')).toMatchObject({
      kind: 'auth',
    });
  });

  it('does not follow a redirect: the request holds the token', async () => {
    await using manager = await startVault({});
    await using elsewhere = await startVault({ a: { x: 1 } });
    manager.server.respond([
      { status: 307, headers: { location: `${elsewhere.server.url}/v1/a` } },
    ]);
    expect((await failure(vault, manager.variables, 'a')).message).toContain('redirect');
    expect(elsewhere.server.requests).toEqual([]);
  });

  it('reads nothing beside the path that is named', async () => {
    await using manager = await startVault({});
    expect((await failure(vault, manager.variables, 'kv/../sys/seal-status')).kind).toBe('missing');
    expect(manager.server.requests).toEqual([]);
  });

  it('tells an answer that is no secret of version 2', async () => {
    await using manager = await startVault({});
    for (const answer of [
      { json: { data: { user: 'me' } } },
      { json: { data: { data: null } } },
      { body: '<html>' },
      { json: [] },
    ]) {
      manager.server.respond([answer]);
      const { kind, message } = await failure(vault, manager.variables, 'kv/a');
      expect(kind).toBeOneOf(['missing', 'data']);
      expect(message).not.toContain('me');
    }
  });
});

describe('aws-sm', () => {
  it('asks the region of an ARN, and hides the key', async () => {
    const arn = 'arn:aws:secretsmanager:us-west-2:123:secret:db-x1';
    await using manager = await startAws({ [arn]: 'abcd' });
    const env = testEnv({ variables: manager.variables });
    expect(await read(awsSecretsManager, manager.variables, arn, env)).toBe('abcd');
    expect(manager.server.requests[0]?.headers['authorization']).toContain(
      '/us-west-2/secretsmanager/',
    );
    expect(env.redactor.text(AWS_SECRET_KEY)).toBe('***');
  });

  it('has no text for a binary secret', async () => {
    await using manager = await startAws({ bin: { SecretBinary: 'AAEC' } });
    expect(await failure(awsSecretsManager, manager.variables, 'bin')).toMatchObject({
      kind: 'missing',
      message: 'the secret is binary',
    });
  });

  it('asks once: repeating is the matter of the caller', async () => {
    await using manager = await startAws({ broken: 500 });
    await failure(awsSecretsManager, manager.variables, 'broken');
    expect(manager.server.requests).toHaveLength(1);
  });
});

describe('azure-kv', () => {
  it('reads the version that is named', async () => {
    await using manager = await startAzure({ db: 'new', 'db/abc': 'old' });
    expect(await read(azureKeyVault, manager.variables, 'team/db/abc')).toBe('old');
  });

  it('sends its login to names of vaults only', async () => {
    for (const name of ['evil.example.com:443/x', 'a@b/x']) {
      expect(
        await failure(
          azureKeyVault,
          { SVC_AZURE_KEYVAULT_URL: 'https://{vault}.example.net' },
          name,
        ),
      ).toMatchObject({
        kind: 'refused',
      });
    }
  });
});

it('a client that is not installed is said to be missing, with the way to get it', async () => {
  const load = (): Promise<unknown> => import(['@nobody', 'client'].join('/'));
  await expect(loadClient('@nobody/client', load)).rejects.toMatchObject({
    kind: 'refused',
    hint: 'npm install @nobody/client',
  });
});
