/**
 * Secrets managers in this process, each speaking the protocol of its vendor as far as reading a
 * secret goes.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startHttpServer, type HttpServer, type Reply, type SeenRequest } from './http-server.ts';

/** Secrets by name; a number is the status that is answered instead. */
export type Held = Readonly<Record<string, string | Readonly<Record<string, unknown>> | number>>;

export interface FakeManager extends AsyncDisposable {
  readonly server: HttpServer;
  /** The environment of a program that may read from it. */
  readonly variables: Readonly<Record<string, string>>;
}

export const VAULT_TOKEN = 'hvs.fakeVaultToken0001';

export async function startVault(held: Held): Promise<FakeManager> {
  const server = await startHttpServer((request) => vaultReply(request, held));
  return fake(server, { VAULT_ADDR: server.url, VAULT_TOKEN, VAULT_NAMESPACE: 'team' });
}

function vaultReply({ method, path, headers }: SeenRequest, held: Held): Reply {
  if (method !== 'GET' || !path.startsWith('/v1/'))
    return { status: 405, json: { errors: ['unsupported operation'] } };
  if (headers['x-vault-token'] !== VAULT_TOKEN)
    return { status: 403, json: { errors: ['permission denied'] } };
  const found = held[decodeURIComponent(path.slice('/v1/'.length))];
  if (found === undefined) return { status: 404, json: { errors: [] } };
  if (typeof found === 'number')
    return { status: found, json: { errors: ['as the test wants it'] } };
  const metadata = {
    created_time: '2026-01-31T08:00:00Z',
    deletion_time: '',
    destroyed: false,
    version: 3,
  };
  return {
    json: {
      request_id: 'r',
      lease_id: '',
      renewable: false,
      lease_duration: 0,
      data: { data: found, metadata },
      auth: null,
    },
  };
}

export const AWS_SECRET_KEY = 'wJalrXUtnFEMIfakeSecretAccessKey';

export async function startAws(held: Held): Promise<FakeManager> {
  const server = await startHttpServer((request) => awsReply(request, held));
  return fake(server, {
    AWS_ENDPOINT_URL_SECRETS_MANAGER: server.url,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'AKIAFAKEFAKEFAKEFAKE',
    AWS_SECRET_ACCESS_KEY: AWS_SECRET_KEY,
  });
}

function awsReply({ headers, body }: SeenRequest, held: Held): Reply {
  const type = 'application/x-amz-json-1.1';
  const answer = (status: number, json: unknown): Reply => ({
    status,
    headers: { 'content-type': type },
    body: JSON.stringify(json),
  });
  if (headers['x-amz-target'] !== 'secretsmanager.GetSecretValue')
    return answer(400, { __type: 'UnknownOperationException' });
  if (
    !/^AWS4-HMAC-SHA256 Credential=AKIAFAKE.*Signature=[0-9a-f]{64}$/.test(
      headers['authorization'] ?? '',
    )
  ) {
    return answer(400, { __type: 'MissingAuthenticationTokenException', message: 'no signature' });
  }
  const { SecretId: id } = JSON.parse(body) as { readonly SecretId: string };
  const found = held[id];
  if (found === undefined) {
    return answer(400, {
      __type: 'ResourceNotFoundException',
      Message: "Secrets Manager can't find the specified secret.",
    });
  }
  if (found === 403)
    return answer(400, {
      __type: 'AccessDeniedException',
      Message: 'User is not authorized to perform this',
    });
  if (typeof found === 'number')
    return answer(found, {
      __type: 'InternalServiceError',
      Message: 'An error occurred on the server side.',
    });
  const value = typeof found === 'string' ? { SecretString: found } : found;
  return answer(200, {
    ARN: `arn:aws:secretsmanager:eu-central-1:1:secret:${id}`,
    Name: id,
    VersionId: 'v',
    CreatedDate: 1,
    ...value,
  });
}

/**
 * The login is that of a workload outside the cloud: a token of its own, exchanged for one of the
 * vendor.
 */
export async function startGcp(
  held: Held,
  folder: { write(name: string, text: string): string },
): Promise<FakeManager> {
  const server = await startHttpServer((request) => gcpReply(request, held));
  const subject = folder.write('subject-token', 'the-workloads-own-token');
  const credentials = {
    type: 'external_account',
    audience:
      '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${server.url}/v1/token`,
    credential_source: { file: subject },
  };
  return fake(server, {
    GOOGLE_APPLICATION_CREDENTIALS: folder.write('credentials.json', JSON.stringify(credentials)),
    CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: `${server.url}/`,
  });
}

const GCP_TOKEN = 'ya29.fakeGoogleToken';

function gcpReply({ method, path, headers, body }: SeenRequest, held: Held): Reply {
  if (method === 'POST' && path === '/v1/token') {
    if (!body.includes('the-workloads-own-token'))
      return { status: 401, json: { error: 'invalid_grant' } };
    const issued_token_type = 'urn:ietf:params:oauth:token-type:access_token';
    return {
      json: { access_token: GCP_TOKEN, issued_token_type, token_type: 'Bearer', expires_in: 3600 },
    };
  }
  const refuse = (code: number, status: string): Reply => ({
    status: code,
    json: { error: { code, status, message: `${status} as told` } },
  });
  const name = /^\/v1\/(projects\/[^/]+\/secrets\/[^/]+\/versions\/[^/]+):access$/.exec(
    decodeURIComponent(path),
  )?.[1];
  if (method !== 'GET' || name === undefined) return refuse(404, 'NOT_FOUND');
  if (headers['authorization'] !== `Bearer ${GCP_TOKEN}`) return refuse(401, 'UNAUTHENTICATED');
  const found = held[name];
  if (found === undefined) return refuse(404, 'NOT_FOUND');
  if (found === 403) return refuse(403, 'PERMISSION_DENIED');
  if (typeof found === 'number') return refuse(found, 'INTERNAL');
  return { json: { name, payload: { data: Buffer.from(found as string).toString('base64') } } };
}

const CERTIFICATES = join(import.meta.dirname, '../../src/connectors/_http/test-certificates');
/** Whoever speaks to the vault has to trust it: `NODE_EXTRA_CA_CERTS` of a program. */
export const AUTHORITY_FILE = join(CERTIFICATES, 'ca.pem');
const AZURE_TOKEN = 'eyJ0.fakeAzureToken';

/**
 * The identity of a machine: an endpoint that the platform names in the environment. The vendor's
 * library remembers the first it meets.
 */
export async function startAzureIdentity(): Promise<FakeManager> {
  const server = await startHttpServer(({ headers }) => {
    if (headers['x-identity-header'] !== 'fakeIdentityHeader')
      return { status: 400, json: { error: 'no header' } };
    const expires_on = String(Math.floor(Date.now() / 1000) + 86_400);
    return { json: { access_token: AZURE_TOKEN, expires_on, resource: 'r', token_type: 'Bearer' } };
  });
  return fake(server, {
    IDENTITY_ENDPOINT: `${server.url}/msi/token`,
    IDENTITY_HEADER: 'fakeIdentityHeader',
  });
}

/** Vaults that let in whoever has a token of the identity. */
export async function startAzure(held: Held): Promise<FakeManager> {
  const tls = {
    key: readFileSync(join(CERTIFICATES, 'server.key')),
    cert: readFileSync(join(CERTIFICATES, 'server.pem')),
  };
  const vaults: HttpServer = await startHttpServer(
    (request) => azureReply(request, held, vaults.url),
    tls,
  );
  return fake(vaults, { SVC_AZURE_KEYVAULT_URL: `https://localhost:${vaults.port}` });
}

function azureReply({ method, path, headers }: SeenRequest, held: Held, url: string): Reply {
  const refuse = (status: number, code: string): Reply => ({
    status,
    json: { error: { code, message: `${code} as told` } },
  });
  if (headers['authorization'] !== `Bearer ${AZURE_TOKEN}`) {
    const challenge = `Bearer authorization="https://login.microsoftonline.com/tenant", resource="${url}"`;
    return { ...refuse(401, 'Unauthorized'), headers: { 'www-authenticate': challenge } };
  }
  const [, , name = '', version] = path.split('/');
  const found = held[version === undefined || version === '' ? name : `${name}/${version}`];
  if (method !== 'GET' || found === undefined) return refuse(404, 'SecretNotFound');
  if (typeof found === 'number')
    return refuse(found, found === 403 ? 'Forbidden' : 'InternalServerError');
  return {
    json: {
      value: found,
      id: `${url}/secrets/${name}/${version ?? 'v1'}`,
      attributes: { enabled: true, created: 1, updated: 1 },
    },
  };
}

function fake(server: HttpServer, variables: Readonly<Record<string, string>>): FakeManager {
  return { server, variables, [Symbol.asyncDispose]: () => server.close() };
}
