import type {
  GetSecretValueCommandOutput,
  SecretsManagerClient,
  SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager';
import { ConnectorError, type ConnectorErrorKind } from '../lib/errors.ts';
import { defineSecretManager, type SecretContext, type SecretManager } from '../kit/secrets.ts';
import { nameWithField } from './names.ts';
import { loadClient } from '../lib/load-client.ts';
import { setting, vendorError } from './vendor.ts';

const PACKAGE = '@aws-sdk/client-secrets-manager';
const LOGIN_HINT =
  'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role, with the right `secretsmanager:GetSecretValue`';

export const awsSecretsManager = defineSecretManager({
  type: 'aws-sm',
  description:
    'AWS Secrets Manager, with the login the AWS tools would use: environment, profile, web identity, container or instance.',
  form: '<name or ARN>[#field]',
  parse: nameWithField(/^\S+$/),
  settings: [
    {
      name: 'AWS_REGION',
      description:
        'Region of secrets that are named without an ARN; `AWS_DEFAULT_REGION` is looked at too.',
    },
    {
      name: 'AWS_ACCESS_KEY_ID',
      description:
        'Key to log in with; with `AWS_SECRET_ACCESS_KEY` and, where it is needed, `AWS_SESSION_TOKEN`.',
    },
    { name: 'AWS_PROFILE', description: 'Profile of the shared files to use instead of keys.' },
    {
      name: 'AWS_ENDPOINT_URL_SECRETS_MANAGER',
      description: 'Other address of the service; `AWS_ENDPOINT_URL` is looked at too.',
    },
  ],
  open: async (context) => {
    const { SecretsManagerClient: Client, GetSecretValueCommand } = await loadClient(
      PACKAGE,
      () => import('@aws-sdk/client-secrets-manager'),
    );
    const clients = new Map<string | undefined, SecretsManagerClient>();
    const clientFor = (region: string | undefined): SecretsManagerClient => {
      let client = clients.get(region);
      if (client === undefined)
        clients.set(region, (client = new Client(settingsOf(context, region))));
      return client;
    };
    return {
      read: async (name, abortSignal) => {
        try {
          return textOf(
            await clientFor(regionOf(name)).send(new GetSecretValueCommand({ SecretId: name }), {
              abortSignal,
            }),
          );
        } catch (error) {
          throw failureOf(error);
        }
      },
      close: () => {
        for (const client of clients.values()) client.destroy();
        return Promise.resolve();
      },
    } satisfies SecretManager;
  },
});

/** An ARN contains the region of its secret. */
function regionOf(name: string): string | undefined {
  const [arn, , service, region] = name.split(':');
  return arn === 'arn' && service === 'secretsmanager' && region !== '' ? region : undefined;
}

/**
 * What our variables say goes before what the client finds itself: they include those of the env
 * file.
 */
function settingsOf(
  { env: { variables, redactor } }: SecretContext,
  regionOfSecret: string | undefined,
): SecretsManagerClientConfig {
  const region = regionOfSecret ?? setting(variables, 'AWS_REGION', 'AWS_DEFAULT_REGION');
  const endpoint = setting(variables, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', 'AWS_ENDPOINT_URL');
  const profile = setting(variables, 'AWS_PROFILE');
  const accessKeyId = setting(variables, 'AWS_ACCESS_KEY_ID');
  const secretAccessKey = setting(variables, 'AWS_SECRET_ACCESS_KEY');
  const sessionToken = setting(variables, 'AWS_SESSION_TOKEN');
  for (const secret of [secretAccessKey, sessionToken])
    if (secret !== undefined) redactor.register(secret);
  const hasKeys =
    profile === undefined && accessKeyId !== undefined && secretAccessKey !== undefined;
  return {
    maxAttempts: 1,
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(profile === undefined ? {} : { profile }),
    ...(hasKeys
      ? {
          credentials: {
            accessKeyId,
            secretAccessKey,
            ...(sessionToken === undefined ? {} : { sessionToken }),
          },
        }
      : {}),
  };
}

function textOf({ SecretString: text }: GetSecretValueCommandOutput): string {
  if (text !== undefined) return text;
  throw new ConnectorError('missing', 'the secret is binary', { hint: 'keep it as text' });
}

const KINDS: Readonly<Record<string, ConnectorErrorKind>> = {
  ResourceNotFoundException: 'missing',
  // Marked for deletion.
  InvalidRequestException: 'missing',
  AccessDeniedException: 'auth',
  CredentialsProviderError: 'auth',
  DecryptionFailure: 'auth',
  ExpiredTokenException: 'auth',
  IncompleteSignature: 'auth',
  InvalidClientTokenId: 'auth',
  InvalidSignatureException: 'auth',
  MissingAuthenticationTokenException: 'auth',
  TokenRefreshRequired: 'auth',
  UnrecognizedClientException: 'auth',
  InternalServiceError: 'http_5xx',
  ThrottlingException: 'rate_limited',
};

function failureOf(error: unknown): ConnectorError {
  if (error instanceof ConnectorError) return error;
  if (!(error instanceof Error)) return vendorError(error, {});
  if (error.message === 'Region is missing') {
    return new ConnectorError('auth', 'no region is set', {
      hint: 'set AWS_REGION, or name the secret by its ARN',
      cause: error,
    });
  }
  const kind = KINDS[error.name];
  const status =
    '$metadata' in error
      ? (error.$metadata as { httpStatusCode?: number } | undefined)?.httpStatusCode
      : undefined;
  const isAuth = kind === 'auth' || (kind === undefined && (status === 401 || status === 403));
  return vendorError(error, {
    ...(kind === undefined ? {} : { kind }),
    ...(status === undefined ? {} : { status }),
    ...(isAuth ? { hint: LOGIN_HINT } : {}),
  });
}
