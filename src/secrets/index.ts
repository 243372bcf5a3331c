import type { SecretManagerDefinition } from '../kit/secrets.ts';
import { awsSecretsManager } from './aws-sm.ts';
import { azureKeyVault } from './azure-kv.ts';
import { gcpSecretManager } from './gcp-sm.ts';
import { vault } from './vault.ts';

/** Every secrets manager of this build, sorted by type. */
export const SECRET_MANAGERS: readonly SecretManagerDefinition[] = [
  awsSecretsManager,
  azureKeyVault,
  gcpSecretManager,
  vault,
];
