/** How a client of Amazon's services is told where to ask, and who asks. */
import { loadClient } from '../load-client.ts';

/** Every field is named by whoever makes one, so that none is forgotten when another is renamed. */
export interface AwsPlace {
  readonly region: string | undefined;
  readonly endpoint: string | undefined;
  /** What the client finds when absent: variables, profiles, the role of the machine. */
  readonly login: AwsLogin | undefined;
}

export type AwsLogin =
  | { readonly type: 'keys'; readonly keys: AwsKeys }
  | { readonly type: 'profile'; readonly name: string }
  | ({ readonly type: 'role' } & AwsRole)
  | ({ readonly type: 'web_identity' } & AwsWebIdentity);

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

interface AwsRole {
  readonly roleArn: string;
  readonly sessionName?: string | undefined;
  readonly externalId?: string | undefined;
}

/** What is absent stands in `AWS_ROLE_ARN` and `AWS_WEB_IDENTITY_TOKEN_FILE`. */
interface AwsWebIdentity {
  readonly roleArn?: string | undefined;
  readonly sessionName?: string | undefined;
  readonly tokenFile?: string | undefined;
}

export interface AwsRequests {
  /** How often the client makes a request, itself. */
  readonly attempts: number;
  readonly requestMs: number;
}

interface AwsIdentity {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

export interface AwsClientSettings {
  readonly region?: string;
  readonly endpoint?: string;
  readonly profile?: string;
  readonly credentials?: AwsIdentity | (() => Promise<AwsIdentity>);
  readonly maxAttempts: number;
  readonly requestHandler: { readonly connectionTimeout: number; readonly socketTimeout: number };
}

const CONNECT_MS = 5000;
/** Compatible services take any; the client asks for one. */
const ANY_REGION = 'us-east-1';

export async function awsClientSettings(
  { region, endpoint, login }: AwsPlace,
  { attempts, requestMs }: AwsRequests,
): Promise<AwsClientSettings> {
  const known = region ?? (endpoint === undefined ? undefined : ANY_REGION);
  const credentials = await credentialsOf(login, known);
  return {
    ...(known === undefined ? {} : { region: known }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(login?.type === 'profile' ? { profile: login.name } : {}),
    ...(credentials === undefined ? {} : { credentials }),
    maxAttempts: attempts,
    // Of its timeouts only that of the socket holds in the middle of an answer, too.
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: requestMs },
  };
}

async function credentialsOf(
  login: AwsLogin | undefined,
  region: string | undefined,
): Promise<AwsClientSettings['credentials']> {
  switch (login?.type) {
    case 'keys':
      return identityOf(login.keys);
    case 'role':
      return roleOf(login, region);
    case 'web_identity':
      return webIdentityOf(login, region);
    default:
      return undefined;
  }
}

export function identityOf({ accessKeyId, secretAccessKey, sessionToken }: AwsKeys): AwsIdentity {
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
}

const PROVIDERS = '@aws-sdk/credential-providers';

function loadProviders() {
  return loadClient(PROVIDERS, () => import('@aws-sdk/credential-providers'));
}

/** Taken by whoever the client finds, and again before it expires. */
async function roleOf(
  { roleArn, sessionName = 'headgate', externalId }: AwsRole,
  region: string | undefined,
): Promise<() => Promise<AwsIdentity>> {
  const { fromTemporaryCredentials } = await loadProviders();
  const take = fromTemporaryCredentials({
    params: {
      RoleArn: roleArn,
      RoleSessionName: sessionName,
      ...(externalId === undefined ? {} : { ExternalId: externalId }),
    },
    ...(region === undefined ? {} : { clientConfig: { region } }),
  });
  return () => take();
}

async function webIdentityOf(
  { roleArn, sessionName, tokenFile }: AwsWebIdentity,
  region: string | undefined,
): Promise<() => Promise<AwsIdentity>> {
  const { fromTokenFile } = await loadProviders();
  return fromTokenFile({
    ...(roleArn === undefined ? {} : { roleArn }),
    ...(sessionName === undefined ? {} : { roleSessionName: sessionName }),
    ...(tokenFile === undefined ? {} : { webIdentityTokenFile: tokenFile }),
    ...(region === undefined ? {} : { clientConfig: { region } }),
  });
}
