import type { CredentialProvider, PartContext } from '../../kit/context.ts';
import { openLogin } from '../../lib/objects/gcs-login.ts';
import { googleAccount, type GoogleAuth } from './account.ts';

/** `url`: for what address a login is made; `scope`: the last step of what it may be used for. */
export async function googleProvider(
  auth: GoogleAuth,
  { url, scope }: { readonly url: string; readonly scope: string },
  context: Pick<PartContext, 'env'>,
): Promise<CredentialProvider> {
  const account = await googleAccount(auth, context);
  const login = await openLogin(account, [`https://www.googleapis.com/auth/${scope}`]);
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
