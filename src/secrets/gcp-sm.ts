import type { SecretManagerServiceClient } from '@google-cloud/secret-manager';
import { ConnectorError, type ConnectorErrorKind } from '../lib/errors.ts';
import { isHttpUrl } from '../lib/http/http-url.ts';
import { defineSecretManager, type SecretContext, type SecretManager } from '../kit/secrets.ts';
import { wholeName } from './names.ts';
import { loadClient } from '../lib/load-client.ts';
import { setting, vendorError } from './vendor.ts';

const PACKAGE = '@google-cloud/secret-manager';
const ENDPOINT = 'CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER';
const LOGIN_HINT =
  'set GOOGLE_APPLICATION_CREDENTIALS, and grant the account `secretmanager.versions.access`';
/** The client wants a bound of its own; ours is shorter. */
const CALL_TIMEOUT_MS = 60_000;

type ClientOptions = NonNullable<ConstructorParameters<typeof SecretManagerServiceClient>[0]>;

export const gcpSecretManager = defineSecretManager({
  type: 'gcp-sm',
  description: 'Google Cloud Secret Manager, with application default credentials.',
  form: 'projects/<project>/secrets/<secret>/versions/<version>',
  parse: wholeName(/^projects\/[^/\s]+\/secrets\/[^/\s]+\/versions\/[^/\s]+$/),
  settings: [
    {
      name: 'GOOGLE_APPLICATION_CREDENTIALS',
      description: 'Credentials file; unset: the login of the gcloud tool, or of the machine.',
    },
    { name: ENDPOINT, description: 'Other address of the service, as for the gcloud tool.' },
  ],
  open: async (context) => {
    const { SecretManagerServiceClient: Client } = await loadClient(
      PACKAGE,
      () => import('@google-cloud/secret-manager'),
    );
    let client: Promise<SecretManagerServiceClient> | undefined;
    return {
      read: async (name) => {
        try {
          client ??= loggedIn(new Client({ ...settingsOf(context), projectId: projectOf(name) }));
          const [version] = await (
            await client
          ).accessSecretVersion({ name }, { timeout: CALL_TIMEOUT_MS, retry: null });
          return textOf(version.payload?.data);
        } catch (error) {
          throw failureOf(error);
        }
      },
      close: async () => {
        const open = await client?.catch(() => undefined);
        await open?.close();
      },
    } satisfies SecretManager;
  },
});

/**
 * A call would log in by itself, but its failure would be an unhandled rejection, which ends the
 * process.
 */
async function loggedIn(client: SecretManagerServiceClient): Promise<SecretManagerServiceClient> {
  await client.initialize();
  return client;
}

/** HTTP instead of gRPC: one request is all there is to make. */
function settingsOf({ env: { variables } }: SecretContext): ClientOptions {
  const file = setting(variables, 'GOOGLE_APPLICATION_CREDENTIALS');
  // The library finds the one of the process by itself, and calls the option deprecated; it is for
  // that of an env file.
  const keyFilename = file === process.env['GOOGLE_APPLICATION_CREDENTIALS'] ? undefined : file;
  const endpoint = setting(variables, ENDPOINT);
  if (endpoint !== undefined && !isHttpUrl(endpoint)) {
    throw new ConnectorError('refused', `${ENDPOINT} is not an http or https address`);
  }
  const url = endpoint === undefined ? undefined : new URL(endpoint);
  return {
    fallback: true,
    ...(keyFilename === undefined ? {} : { keyFilename }),
    ...(url === undefined
      ? {}
      : {
          apiEndpoint: url.hostname,
          port: Number(url.port) || (url.protocol === 'http:' ? 80 : 443),
          protocol: url.protocol.slice(0, -1),
        }),
  };
}

/**
 * Left to itself the library looks for a project behind our back, and a failure of that would end
 * the process.
 */
function projectOf(name: string): string {
  return name.split('/')[1] ?? '';
}

function textOf(data: Uint8Array | string | null | undefined): string {
  if (data === null || data === undefined)
    throw new ConnectorError('missing', 'the version has no value');
  return typeof data === 'string'
    ? Buffer.from(data, 'base64').toString('utf8')
    : Buffer.from(data).toString('utf8');
}

/** By the number of the gRPC status. */
const KINDS: Readonly<Record<number, ConnectorErrorKind>> = {
  3: 'refused',
  4: 'timeout',
  5: 'missing',
  7: 'auth',
  8: 'rate_limited',
  // Disabled or destroyed.
  9: 'missing',
  13: 'http_5xx',
  14: 'connection',
  16: 'auth',
};

function failureOf(error: unknown): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const code =
    typeof error === 'object' && error !== null && 'code' in error
      ? Number(error.code)
      : Number.NaN;
  const noLogin =
    error instanceof Error &&
    /default credentials|credential|invalid_grant|refresh access token/i.test(error.message);
  const kind = KINDS[code] ?? (noLogin ? 'auth' : undefined);
  return vendorError(error, {
    ...(kind === undefined ? {} : { kind }),
    ...(kind === 'auth' ? { hint: LOGIN_HINT } : {}),
  });
}
