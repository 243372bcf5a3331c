import { RefusedError } from '../../lib/errors.ts';
import type { How } from '../service/runs.ts';

/**
 * What a run is given beside its document and may not be stored cannot reach the server that
 * executes it. Throws `unprocessable`.
 */
export function refuseWithheld({ bound }: How): void {
  const [secret] = bound?.secretParams ?? [];
  if (secret !== undefined)
    throw new RefusedError(
      'unprocessable',
      `params: \`${secret}\` is secret, and a clustered server stores what a run needs`,
      { hint: 'let the document read the value with `${env:…}` or `${secret:…}` on every server' },
    );
  const [variable] = Object.keys(bound?.env ?? {});
  if (variable !== undefined)
    throw new RefusedError(
      'unprocessable',
      `env: \`${variable}\` cannot be given with a run on a clustered server, which stores what a run needs`,
      { hint: 'set the variable on every server' },
    );
}
