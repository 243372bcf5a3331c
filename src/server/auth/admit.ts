/**
 * Lets a caller in or not: authentication, then the permission of the route. A denied attempt is
 * audited.
 */
import { RefusedError } from '../../lib/errors.ts';
import type { AuditEntry } from '../../wire/audit.ts';
import type { Authenticator, Principal } from './auth.ts';
import { permits } from './permissions.ts';
import type { Route } from '../route.ts';
import type { Services } from '../services.ts';

export interface Approach {
  readonly authorization: string | undefined;
  readonly sourceIp: string | undefined;
  readonly params: Readonly<Record<string, string>>;
}

/** The principal of public routes, which need no credential. */
export const NOBODY: Principal = Object.freeze({ name: 'nobody', role: 'viewer' });

export interface Admission {
  readonly authenticate: Authenticator;
  /** Those that the route uses. */
  readonly services: Services;
}

/**
 * Throws `unauthorized`; returns the refusal (to be audited, then answered) when the role does not
 * suffice.
 */
export function admit(
  route: Route,
  approach: Approach,
  { authenticate, services }: Admission,
): Principal | { readonly denied: RefusedError; readonly audit: AuditEntry } {
  if (route.permission === 'public') return NOBODY;
  const principal = identify(route, approach, { authenticate, services });
  if (principal === NOBODY) return NOBODY;
  if (permits(principal.role, route.permission)) return principal;
  const denied = new RefusedError(
    'forbidden',
    `the role ${principal.role} of principal ${principal.name} lacks the permission ${route.permission}`,
  );
  return { denied, audit: denial(route, principal, approach) };
}

/** A resource that checks by itself who asks needs no token; one that is sent must be right. */
function identify(
  route: Route,
  { authorization, params }: Approach,
  { authenticate, services }: Admission,
): Principal {
  try {
    return authenticate(authorization);
  } catch (error) {
    if (authorization === undefined && route.isOpenTo?.(params, services) === true) return NOBODY;
    throw error;
  }
}

function denial(route: Route, principal: Principal, approach: Approach): AuditEntry {
  const runId = route.path.startsWith('/v1/runs/{id}') ? approach.params['id'] : undefined;
  return {
    principal: principal.name,
    role: principal.role,
    action: route.label,
    result: 'denied',
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(approach.sourceIp === undefined ? {} : { source_ip: approach.sourceIp }),
  };
}
