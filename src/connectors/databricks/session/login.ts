/** Who asks: a token of the document, or one that a shared login gives. */
import type { Credential, CredentialProvider, PartContext } from '../../../kit/context.ts';
import type { Endpoint } from '../config.ts';

export function openLogin(
  { auth }: Pick<Endpoint, 'auth'>,
  { env, credentials }: Pick<PartContext, 'env' | 'credentials'>,
): CredentialProvider {
  if ('ref' in auth) return credentials.resolve(auth);
  const { token } = auth.config;
  env.redactor.register(token);
  const credential: Credential = { headers: { authorization: `Bearer ${token}` }, query: {} };
  return { get: () => Promise.resolve(credential), invalidate: () => {} };
}

/** For links that hold a login themselves, and refuse another one. */
export const NOBODY: CredentialProvider = {
  get: () => Promise.resolve({ headers: {}, query: {} }),
  invalidate: () => {},
};
