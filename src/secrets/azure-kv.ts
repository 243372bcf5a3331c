import type { TokenCredential } from '@azure/identity';
import type { SecretClient } from '@azure/keyvault-secrets';
import { ConnectorError, type ConnectorErrorKind } from '../lib/errors.ts';
import { findVariable, VARIABLES, type Variables } from '../lib/variables.ts';
import { defineSecretManager, type SecretContext, type SecretManager } from '../kit/secrets.ts';
import { wholeName } from './names.ts';
import { loadClient } from '../lib/load-client.ts';
import { setting, vendorError } from './vendor.ts';

const PACKAGES = '@azure/identity @azure/keyvault-secrets';
const ADDRESS = VARIABLES.azureKeyVaultUrl;
const LOGIN_HINT =
  'set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or give the machine an identity, with the right to read secrets';

export const azureKeyVault = defineSecretManager({
  type: 'azure-kv',
  description:
    'Azure Key Vault, with a service principal, else the identity of the machine, else the login of the developer tools.',
  form: '<vault>/<secret>[/<version>]',
  parse: wholeName(/^[^/\s]+\/[^/\s]+(?:\/[^/\s]+)?$/),
  settings: [
    {
      name: 'AZURE_TENANT_ID',
      description:
        'Tenant of the service principal; with `AZURE_CLIENT_ID` and `AZURE_CLIENT_SECRET`.',
    },
    {
      name: ADDRESS[0],
      description:
        'Address of the vaults in another cloud, with `{vault}` for the name: `https://{vault}.vault.azure.cn`.',
    },
  ],
  open: async (context) => {
    const [identity, { SecretClient: Client }] = await loadClient(PACKAGES, () =>
      Promise.all([import('@azure/identity'), import('@azure/keyvault-secrets')]),
    );
    const clients = new Map<string, SecretClient>();
    let credential: TokenCredential | undefined;
    const clientFor = (vault: string): SecretClient => {
      let client = clients.get(vault);
      if (client === undefined) {
        credential ??= credentialOf(context, identity);
        client = new Client(addressOf(vault, context), credential, {
          retryOptions: { maxRetries: 0 },
          ...challengeOf(context),
        });
        clients.set(vault, client);
      }
      return client;
    };
    return {
      read: async (name, abortSignal) => {
        const [vault = '', secret = '', version] = name.split('/');
        try {
          const { value } = await clientFor(vault).getSecret(secret, {
            abortSignal,
            ...(version === undefined ? {} : { version }),
          });
          if (value !== undefined) return value;
          throw new ConnectorError('missing', 'the secret has no value');
        } catch (error) {
          throw failureOf(error);
        }
      },
      close: () => Promise.resolve(),
    } satisfies SecretManager;
  },
});

function addressOf(vault: string, { env: { variables } }: SecretContext): string {
  const address = (addressFor(variables) ?? 'https://{vault}.vault.azure.net').replaceAll(
    '{vault}',
    vault,
  );
  if (
    /^[A-Za-z0-9-]+$/.test(vault) &&
    URL.canParse(address) &&
    new URL(address).protocol === 'https:'
  )
    return address;
  throw new ConnectorError('refused', `\`${vault}\` gives no https address of a vault`);
}

/**
 * A vault says for whom it wants a token. That is compared with its own name, which an address
 * without names does not have.
 */
function challengeOf({ env: { variables } }: SecretContext): {
  readonly disableChallengeResourceVerification?: true;
} {
  const address = addressFor(variables);
  return address === undefined || address.includes('{vault}.')
    ? {}
    : { disableChallengeResourceVerification: true };
}

function addressFor(variables: Variables): string | undefined {
  return findVariable(ADDRESS, variables)?.text || undefined;
}

/**
 * What our variables say goes before what the library finds itself: they include those of the env
 * file.
 */
function credentialOf(
  { env: { variables, redactor } }: SecretContext,
  identity: typeof import('@azure/identity'),
): TokenCredential {
  const tenant = setting(variables, 'AZURE_TENANT_ID');
  const client = setting(variables, 'AZURE_CLIENT_ID');
  const secret = setting(variables, 'AZURE_CLIENT_SECRET');
  if (tenant !== undefined && client !== undefined && secret !== undefined) {
    redactor.register(secret);
    return new identity.ClientSecretCredential(tenant, client, secret);
  }
  return new identity.DefaultAzureCredential(
    client === undefined ? {} : { managedIdentityClientId: client },
  );
}

const LOGIN_ERRORS: ReadonlySet<string> = new Set([
  'AggregateAuthenticationError',
  'AuthenticationError',
  'AuthenticationRequiredError',
  'ChainedTokenCredentialError',
  'CredentialUnavailableError',
]);

function failureOf(error: unknown): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const name = error instanceof Error ? error.name : '';
  const status =
    typeof error === 'object' && error !== null && 'statusCode' in error
      ? Number(error.statusCode) || undefined
      : undefined;
  const kind: ConnectorErrorKind | undefined = LOGIN_ERRORS.has(name) ? 'auth' : undefined;
  const isAuth = kind === 'auth' || status === 401 || status === 403;
  return vendorError(error, {
    ...(kind === undefined ? {} : { kind }),
    ...(status === undefined ? {} : { status }),
    ...(isAuth ? { hint: LOGIN_HINT } : {}),
  });
}
