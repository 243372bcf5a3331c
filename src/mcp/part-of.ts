import type { Registry } from '../kit/parts.ts';
import { RefusedError } from '../lib/errors.ts';
import { suggestion } from '../lib/text/nearest.ts';

/** Throws `RefusedError` with the nearest name. */
export function partOf<D extends { readonly type: string; readonly aliases?: readonly string[] }>(
  registry: Registry<D>,
  kind: string,
  name: string,
): D {
  const part = registry.get(name);
  if (part !== undefined) return part;
  const hint = suggestion(name, registry.types(), 'known');
  throw new RefusedError(
    'not_found',
    `there is no ${kind} called ${JSON.stringify(name)}`,
    hint === undefined ? {} : { hint },
  );
}
