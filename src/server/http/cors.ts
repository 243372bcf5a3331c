/**
 * Cross-origin answers: off unless origins are listed, exact matches only, never with credentials.
 */
import type { Log } from '../../lib/log.ts';

export type Cors = (origin: string | undefined) => Readonly<Record<string, string>> | undefined;

const HEADERS = {
  'access-control-allow-methods': 'GET, POST, PUT, DELETE',
  'access-control-allow-headers': 'authorization, content-type, idempotency-key',
  'access-control-max-age': '600',
} as const;
const EXPOSED = 'retry-after, www-authenticate';

/** Entries that are not valid origins are ignored with a warning. */
export function corsFor(origins: readonly string[], log: Log): Cors {
  const allowed = new Set(origins.filter((origin) => isOrigin(origin) || warn(origin, log)));
  if (allowed.size === 0) return () => undefined;
  return (origin) => {
    const vary: Record<string, string> = { vary: 'origin' };
    if (origin === undefined || !allowed.has(origin)) return vary;
    return {
      ...vary,
      'access-control-allow-origin': origin,
      'access-control-expose-headers': EXPOSED,
    };
  };
}

/** Headers of the answer to a preflight, beside those of every answer. */
export function preflightHeaders(granted: ReturnType<Cors>): Readonly<Record<string, string>> {
  return granted?.['access-control-allow-origin'] === undefined ? {} : HEADERS;
}

function isOrigin(written: string): boolean {
  return (
    URL.canParse(written) &&
    /^https?:$/.test(new URL(written).protocol) &&
    new URL(written).origin === written
  );
}

function warn(origin: string, log: Log): false {
  log.warn('not an origin; it is left out', { origin, expected: 'scheme://host[:port]' });
  return false;
}
