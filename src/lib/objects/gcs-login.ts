/** Who asks a service of Google Cloud: a header of each request. */
import { ConnectorError, messageOf } from '../errors.ts';
import { loadClient } from '../load-client.ts';

export type GcsAuth =
  | { readonly type: 'application_default' }
  | { readonly type: 'anonymous' }
  | {
      readonly type: 'service_account';
      readonly email: string;
      readonly key: string;
      readonly keyId?: string | undefined;
      /** The one that the account belongs to. */
      readonly project?: string | undefined;
    };

/** The headers of a request to `url`. Throws a `ConnectorError`. */
export type GcsLogin = (url: string) => Promise<Headers>;

const STORAGE = ['https://www.googleapis.com/auth/devstorage.read_write'];
const HINT =
  'set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or give the machine a service account';

/** `scopes`: what the login is for; objects unless given. */
export async function openLogin(auth: GcsAuth, scopes = STORAGE): Promise<GcsLogin> {
  if (auth.type === 'anonymous') return () => Promise.resolve(new Headers());
  const { GoogleAuth, JWT } = await loadClient(
    'google-auth-library',
    () => import('google-auth-library'),
  );
  if (auth.type === 'application_default') {
    const client = new GoogleAuth({ scopes });
    return (url) => told(() => client.getRequestHeaders(url), HINT);
  }
  const { email, key, keyId } = auth;
  const client = new JWT({ email, key, scopes, ...(keyId === undefined ? {} : { keyId }) });
  // The account signs for itself; no other service is asked for a token.
  client.useJWTAccessWithScope = true;
  return (url) =>
    told(() => client.getRequestHeaders(url), 'check `private_key` and `client_email` of the key');
}

async function told(ask: () => Promise<Headers>, hint: string): Promise<Headers> {
  try {
    return await ask();
  } catch (error) {
    const { status, code } = error as { readonly status?: unknown; readonly code?: unknown };
    const message = `the login at Google Cloud failed: ${messageOf(error)}`;
    if (typeof status === 'number' && status >= 500)
      throw new ConnectorError('http_5xx', message, { cause: error });
    if (typeof code === 'string' && /^(ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE)/.test(code))
      throw new ConnectorError('connection', message, { cause: error });
    throw new ConnectorError('auth', message, { cause: error, hint });
  }
}

/** The project of what the machine has; `undefined` where that tells none. */
export async function defaultProject(): Promise<string | undefined> {
  const { GoogleAuth } = await loadClient(
    'google-auth-library',
    () => import('google-auth-library'),
  );
  try {
    return await new GoogleAuth().getProjectId();
  } catch {
    return undefined;
  }
}
