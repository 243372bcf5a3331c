import { describe, expect, test } from 'vitest';
import { readSecretReference, SECRET_MANAGERS, type SecretManagerName } from './secret-tokens.ts';

describe('names of secrets (spec 2.5)', () => {
  test.each<[SecretManagerName, string, string, string | undefined]>([
    ['vault', 'secret/data/app', 'secret/data/app', undefined],
    ['vault', 'app#password', 'app', 'password'],
    [
      'aws-sm',
      'arn:aws:secretsmanager:eu-west-1:1:secret:app-x#a.b',
      'arn:aws:secretsmanager:eu-west-1:1:secret:app-x',
      'a.b',
    ],
    [
      'gcp-sm',
      'projects/p/secrets/s/versions/latest',
      'projects/p/secrets/s/versions/latest',
      undefined,
    ],
    ['azure-kv', 'vault/secret', 'vault/secret', undefined],
    ['azure-kv', 'vault/secret/1', 'vault/secret/1', undefined],
  ])('%s:%s', (manager, rest, name, field) => {
    expect(readSecretReference(manager, rest)).toEqual({ manager, name, field });
  });

  test.each<[SecretManagerName, string]>([
    ['vault', ''],
    ['vault', '/app'],
    ['vault', 'app#'],
    ['vault', '#key'],
    ['aws-sm', 'a b'],
    ['gcp-sm', 'projects/p/secrets/s'],
    ['gcp-sm', 'projects/p/secrets/s/versions/1#key'],
    ['azure-kv', 'vault'],
    ['azure-kv', 'vault/secret#key'],
    ['azure-kv', 'vault/secret/1/2'],
  ])('%s:%s is none', (manager, rest) => {
    expect(readSecretReference(manager, rest)).toBeUndefined();
  });

  test('there are four managers', () => {
    expect(SECRET_MANAGERS).toEqual(['vault', 'aws-sm', 'gcp-sm', 'azure-kv']);
  });
});
