/** Secrets of all four managers in one document, through the program. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AUTHORITY_FILE,
  startAws,
  startAzure,
  startAzureIdentity,
  startGcp,
  startVault,
  type FakeManager,
} from '../fakes/secret-managers.ts';
import { makeFolder, type Folder } from './folder.ts';

const VALUES = {
  vault: 'from-vault-1',
  aws: 'from-aws-2',
  gcp: 'from-gcp-3',
  azure: 'from-azure-4',
};
let folder: Folder;
let managers: FakeManager[];
let variables: Readonly<Record<string, string>>;

beforeAll(async () => {
  folder = makeFolder('secrets');
  const write = (name: string, text: string): string => {
    folder.write(name, text);
    return join(folder.path, name);
  };
  managers = [
    await startVault({ 'kv/data/app': { stamp: VALUES.vault } }),
    await startAws({ 'prod/app': JSON.stringify({ stamp: VALUES.aws }) }),
    await startGcp({ 'projects/p/secrets/s/versions/latest': VALUES.gcp }, { write }),
    await startAzure({ stamp: VALUES.azure }),
    await startAzureIdentity(),
  ];
  variables = Object.assign(
    { NODE_EXTRA_CA_CERTS: AUTHORITY_FILE },
    ...managers.map((one) => one.variables),
  ) as typeof variables;
  folder.records('in.jsonl', [{ id: 1 }]);
  folder.document('all.yaml', {
    source: { type: 'jsonl', config: { path: 'in.jsonl' } },
    transforms: [
      {
        type: 'set',
        config: {
          values: {
            vault: '${vault:kv/data/app#stamp}',
            aws: '${aws-sm:prod/app#stamp}',
            gcp: '${gcp-sm:projects/p/secrets/s/versions/latest}',
            azure: '${azure-kv:team/stamp}',
          },
        },
      },
    ],
    sink: { type: 'jsonl', config: { path: 'out.jsonl' } },
  });
});
afterAll(async () => {
  for (const manager of managers) await manager[Symbol.asyncDispose]();
  folder.remove();
});

const requests = (): number =>
  managers.reduce((sum, { server }) => sum + server.requests.length, 0);

describe('secrets managers', () => {
  it('fill a document that runs', async () => {
    const { code, stderr } = await folder.run(['run', 'all.yaml'], variables);
    expect(code, stderr).toBe(0);
    expect(folder.lines('out.jsonl')).toEqual([{ id: 1, ...VALUES }]);
    expect(stderr).not.toMatch(/Warning|deprecated/);
  });

  it('are asked by `validate`, which tells the tokens and not the values', async () => {
    const { code, stdout, stderr } = await folder.run(['validate', 'all.yaml'], variables);
    expect(code, stderr).toBe(0);
    const resolved = stdout.split('\n').filter((line) => line.startsWith('resolved'));
    expect(resolved.sort()).toEqual([
      'resolved  ${aws-sm:prod/app#stamp}',
      'resolved  ${azure-kv:team/stamp}',
      'resolved  ${gcp-sm:projects/p/secrets/s/versions/latest}',
      'resolved  ${vault:kv/data/app#stamp}',
    ]);
    for (const value of Object.values(VALUES)) expect(stdout + stderr).not.toContain(value);
  });

  it('are left alone by `validate --no-secrets`, `plan` and `explain`, whatever stands there', async () => {
    folder.document('typed.yaml', {
      source: {
        type: 'postgres',
        config: {
          connection_url: '${vault:kv/data/app#url}',
          query: 'select 1',
          batch_size: '${vault:kv/data/app#n}',
        },
      },
      sink: { type: 'jsonl', config: { path: 'out-${vault:kv/data/app#dir}.jsonl' } },
      state: { type: 'redis', config: { url: '${aws-sm:redis}' } },
    });
    const before = requests();
    for (const args of [['validate', '--no-secrets'], ['plan'], ['explain']]) {
      for (const file of ['all.yaml', 'typed.yaml']) {
        const { code, stderr } = await folder.run([...args, file], variables);
        expect(code, `${args.join(' ')} ${file}: ${stderr}`).toBe(0);
      }
    }
    expect(requests()).toBe(before);
    expect((await folder.run(['plan', '--resolve-secrets', 'all.yaml'], variables)).code).toBe(0);
    expect(requests()).toBeGreaterThan(before);
  });

  it('that do not let the program in fail it, with the place and what to do', async () => {
    const { code, stderr } = await folder.run(['run', 'all.yaml'], {
      ...variables,
      VAULT_TOKEN: 'wrong-token-1234',
    });
    expect(code).toBe(1);
    expect(stderr).toContain('all.yaml:1:');
    expect(stderr).toContain(
      '`${vault:kv/data/app#stamp}` may not be read: the server answers 403',
    );
    expect(stderr).toContain('VAULT_TOKEN');
    expect(stderr).not.toContain('wrong-token-1234');
  });

  it('may be set up in the env file', async () => {
    folder.write(
      '.env',
      `VAULT_ADDR=${variables['VAULT_ADDR'] ?? ''}\nVAULT_TOKEN=${variables['VAULT_TOKEN'] ?? ''}\n`,
    );
    folder.document('one.yaml', {
      source: { type: 'jsonl', config: { path: 'in.jsonl' } },
      transforms: [{ type: 'set', config: { values: { x: '${vault:kv/data/app#stamp}' } } }],
      sink: { type: 'jsonl', config: { path: 'one.jsonl' } },
    });
    const { code, stderr } = await folder.run(['run', 'one.yaml'], {});
    expect(code, stderr).toBe(0);
    expect(folder.lines('one.jsonl')).toEqual([{ id: 1, x: VALUES.vault }]);
  });
});
