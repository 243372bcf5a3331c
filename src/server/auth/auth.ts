/**
 * Who is calling. Permissions are the business of `permissions.ts`, settings of `auth-settings.ts`.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { RefusedError } from '../../lib/errors.ts';
import type { Role } from './permissions.ts';

export interface Principal {
  readonly name: string;
  readonly role: Role;
}

/** A principal with the token that proves it. */
export interface TokenHolder extends Principal {
  readonly token: string;
}

/** Finds the principal of an `Authorization` header, or throws `unauthorized`. */
export type Authenticator = (authorization: string | undefined) => Principal;

const ANONYMOUS: Principal = Object.freeze({ name: 'anonymous', role: 'admin' });

/** `--no-auth`: everybody is the same administrator. */
export const openToAll: Authenticator = () => ANONYMOUS;

const SCHEME = 'Bearer ';

/**
 * Compares with every token before answering, in a time that does not depend on how much of one was
 * right.
 */
export function bearerAuth(holders: readonly TokenHolder[]): Authenticator {
  const known = holders.map(({ name, role, token }) => ({
    principal: Object.freeze({ name, role }),
    digest: digestOf(token),
  }));
  return (authorization) => {
    if (authorization === undefined)
      throw unauthorized('a bearer token is required: send `Authorization: Bearer <token>`');
    if (!authorization.startsWith(SCHEME))
      throw unauthorized('the `Authorization` header must read `Bearer <token>`');
    const token = authorization.slice(SCHEME.length);
    // The runtime reads each byte of a header as one letter; clients send UTF-8, or these letters.
    const presented = [digestOf(token), digestOf(Buffer.from(token, 'latin1'))];
    let found: Principal | undefined;
    for (const { principal, digest } of known) {
      for (const one of presented) if (timingSafeEqual(digest, one)) found = principal;
    }
    if (found === undefined) throw unauthorized('the bearer token is not known here');
    return found;
  };
}

function digestOf(token: string | Buffer): Buffer {
  return hash('sha256', token, 'buffer');
}

function unauthorized(message: string): RefusedError {
  return new RefusedError('unauthorized', message);
}
