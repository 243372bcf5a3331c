import { describe, expect, test } from 'vitest';
import { SECRET_MANAGERS } from './index.ts';

function parse(type: string, text: string) {
  const manager = SECRET_MANAGERS.find((one) => one.type === type);
  if (manager === undefined) throw new Error(`there is no manager ${type}`);
  return manager.parse(text);
}

describe('names of secrets', () => {
  test.each<[string, string, string, string | undefined]>([
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
    expect(parse(manager, rest)).toEqual({ name, field });
  });

  test.each<[string, string]>([
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
    expect(parse(manager, rest)).toBeUndefined();
  });
});
