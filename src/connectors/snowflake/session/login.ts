/** Who asks: a signed token of a key pair, or a token of an OAuth server. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { Credential, CredentialProvider, PartContext } from '../../../kit/context.ts';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { accountName } from '../address.ts';
import type { Endpoint } from '../config.ts';

/** The server takes a token for an hour at most. */
const LIFETIME_SECS = 3600 - 60;
const RENEWED_SECS = 3600 / 2;

export function openLogin(
  { account, auth }: Endpoint,
  { env, credentials }: Pick<PartContext, 'env' | 'credentials'>,
): CredentialProvider {
  if ('ref' in auth) return asOauth(credentials.resolve(auth));
  if (auth.type === 'oauth') {
    env.redactor.register(auth.config.token);
    const credential = bearer(auth.config.token, 'OAUTH');
    return { get: () => Promise.resolve(credential), invalidate: () => {} };
  }
  const { user, private_key_pem: pem } = auth.config;
  env.redactor.register(pem);
  const key = privateKey(pem);
  const issued = new SignedTokens(accountName(account), user.toUpperCase(), key);
  return {
    get: () => issued.at(env.clock.now()),
    invalidate: () => issued.drop(),
  };
}

function bearer(token: string, type: 'OAUTH' | 'KEYPAIR_JWT'): Credential {
  return {
    headers: {
      authorization: `Bearer ${token}`,
      'x-snowflake-authorization-token-type': type,
    },
    query: {},
  };
}

/** Keys in variables often have the two letters `\n` in the place of line ends. */
function privateKey(pem: string): KeyObject {
  const text = pem.includes('\n') ? pem : pem.replaceAll('\\n', '\n');
  if (/ENCRYPTED/.test(text))
    throw new ConnectorError('auth', 'the private key is encrypted, and there is no password', {
      hint: 'write the key decrypted: openssl pkcs8 -in key.p8 -out plain.p8',
    });
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new ConnectorError('auth', `the private key cannot be read: ${messageOf(error)}`, {
      hint: 'write it as PEM, from `-----BEGIN PRIVATE KEY-----` to `-----END PRIVATE KEY-----`',
    });
  }
}

class SignedTokens {
  readonly #account: string;
  readonly #user: string;
  readonly #key: KeyObject;
  #current: { readonly credential: Promise<Credential>; readonly until: number } | undefined;

  constructor(account: string, user: string, key: KeyObject) {
    this.#account = account;
    this.#user = user;
    this.#key = key;
  }

  at(now: number | Date): Promise<Credential> {
    const seconds = Math.floor(Number(now) / 1000);
    if (this.#current === undefined || this.#current.until <= seconds)
      this.#current = { credential: this.#sign(seconds), until: seconds + RENEWED_SECS };
    return this.#current.credential;
  }

  drop(): void {
    this.#current = undefined;
  }

  async #sign(seconds: number): Promise<Credential> {
    const { SignJWT } = await import('jose');
    const subject = `${this.#account}.${this.#user}`;
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuer(`${subject}.${fingerprint(this.#key)}`)
      .setSubject(subject)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + LIFETIME_SECS)
      .sign(this.#key);
    return bearer(token, 'KEYPAIR_JWT');
  }
}

function fingerprint(key: KeyObject): string {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return `SHA256:${createHash('sha256').update(spki).digest('base64')}`;
}

/** The token of a shared login. */
function asOauth(shared: CredentialProvider): CredentialProvider {
  const known = new WeakMap<Credential, Credential>();
  const origins = new WeakMap<Credential, Credential>();
  return {
    async get(signal) {
      const given = await shared.get(signal);
      const before = known.get(given);
      if (before !== undefined) return before;
      const credential = bearer(tokenOf(given), 'OAUTH');
      known.set(given, credential);
      origins.set(credential, given);
      return credential;
    },
    invalidate(stale) {
      const given = origins.get(stale);
      if (given !== undefined) shared.invalidate(given);
    },
  };
}

function tokenOf({ token, headers }: Credential): string {
  const header = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization');
  const found = token ?? /^Bearer (\S+)$/i.exec(header?.[1] ?? '')?.[1];
  if (found !== undefined) return found;
  throw new ConnectorError('refused', 'the shared login gives no bearer token', {
    hint: 'use one of the type `static`, `oauth2`, `oauth2_refresh` or `token_endpoint`',
  });
}
