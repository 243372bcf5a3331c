/** Where a container of Azure Blob Storage is, and who asks for its blobs. */
import type * as Azure from '@azure/storage-blob';
import { ConnectorError } from '../errors.ts';
import { loadClient } from '../load-client.ts';

export type AzureAuth =
  | { readonly type: 'default' }
  | { readonly type: 'account_key'; readonly account: string; readonly key: string }
  | { readonly type: 'sas_token'; readonly token: string }
  | { readonly type: 'managed_identity'; readonly clientId?: string | undefined }
  | {
      readonly type: 'service_principal';
      readonly tenantId: string;
      readonly clientId: string;
      readonly clientSecret: string;
    };

export interface AzurePlace {
  readonly container: string;
  /** Address of the account, or all that a connection string says. */
  readonly at:
    | { readonly endpoint: string; readonly auth: AzureAuth }
    | { readonly connectionString: string };
}

/** Each request is one attempt: who asks repeats it. */
const OPTIONS = { retryOptions: { maxTries: 1 } } as const;

export async function openContainer(
  sdk: typeof Azure,
  { container, at }: AzurePlace,
): Promise<Azure.ContainerClient> {
  if ('connectionString' in at) return byString(sdk, at.connectionString, container);
  const { endpoint, auth } = at;
  const url = `${endpoint.replace(/\/+$/, '')}/${encodeURIComponent(container)}`;
  switch (auth.type) {
    case 'account_key':
      return withKey(sdk, url, auth);
    case 'sas_token': {
      const signed = `${url}?${auth.token.replace(/^\?/, '')}`;
      return new sdk.ContainerClient(signed, new sdk.AnonymousCredential(), OPTIONS);
    }
    default:
      return new sdk.ContainerClient(url, await identityOf(auth), OPTIONS);
  }
}

/** The messages of the client quote the string. */
function byString(
  sdk: typeof Azure,
  connectionString: string,
  container: string,
): Azure.ContainerClient {
  try {
    return new sdk.ContainerClient(connectionString, container, OPTIONS);
  } catch {
    throw new ConnectorError('auth', 'the connection string cannot be read', {
      hint: 'copy it from the access keys of the storage account',
    });
  }
}

function withKey(
  sdk: typeof Azure,
  url: string,
  { account, key }: Extract<AzureAuth, { readonly type: 'account_key' }>,
): Azure.ContainerClient {
  const credential = new sdk.StorageSharedKeyCredential(account, key);
  return new sdk.ContainerClient(url, credential, OPTIONS);
}

type IdentityAuth = Exclude<AzureAuth, { readonly type: 'account_key' | 'sas_token' }>;

async function identityOf(auth: IdentityAuth) {
  const identity = await loadClient('@azure/identity', () => import('@azure/identity'));
  switch (auth.type) {
    case 'default':
      return new identity.DefaultAzureCredential();
    case 'managed_identity':
      return auth.clientId === undefined
        ? new identity.ManagedIdentityCredential()
        : new identity.ManagedIdentityCredential({ clientId: auth.clientId });
    case 'service_principal':
      return new identity.ClientSecretCredential(auth.tenantId, auth.clientId, auth.clientSecret);
    default:
      return auth satisfies never;
  }
}
