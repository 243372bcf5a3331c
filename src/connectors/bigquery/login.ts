/** Who asks BigQuery. */
import type { CredentialProvider, PartContext } from '../../kit/context.ts';
import { openLogin, type GcsAuth } from '../../lib/objects/gcs-login.ts';
import { accountInFile, accountOf } from '../_objects/gcs-place.ts';
import { resolvePath } from '../_files/paths.ts';
import type { BigqueryAuth } from './config.ts';

const SCOPES = ['https://www.googleapis.com/auth/bigquery'];

export function googleAccount(
  auth: BigqueryAuth,
  { env }: Pick<PartContext, 'env'>,
): Promise<GcsAuth> {
  switch (auth.type) {
    case 'application_default':
    case 'anonymous':
      return Promise.resolve({ type: auth.type });
    case 'service_account_key':
      env.redactor.register(auth.config.json);
      return Promise.resolve(accountOf(auth.config.json, '`auth.config.json`'));
    case 'service_account_key_path': {
      const { path } = auth.config;
      return accountInFile(resolvePath(env.cwd, path), path);
    }
    default:
      return auth satisfies never;
  }
}

/** `url`: for what address a login is made. */
export async function openProvider(
  auth: BigqueryAuth,
  url: string,
  context: Pick<PartContext, 'env'>,
): Promise<CredentialProvider> {
  const account = await googleAccount(auth, context);
  if (account.type === 'service_account') context.env.redactor.register(account.key);
  const login = await openLogin(account, SCOPES);
  return {
    async get() {
      const headers = Object.fromEntries(await login(url));
      const token = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
      if (token !== undefined) context.env.redactor.register(token);
      return { headers, query: {} };
    },
    // The library renews a token before it ends; one that is refused is not good again.
    invalidate: () => {},
  };
}
