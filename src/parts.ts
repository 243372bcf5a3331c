/** The one list of what this build contains. */
import { SINKS, SOURCES } from './connectors/index.ts';
import { CREDENTIALS } from './credentials/index.ts';
import type { PartFault } from './kit/part-packages.ts';
import { createParts, type PartLists, type Parts } from './kit/parts.ts';
import { SECRET_MANAGERS } from './secrets/index.ts';
import { STATE_STORES } from './state/index.ts';
import { TRANSFORMS } from './transforms/index.ts';

const LISTS: PartLists = {
  sources: SOURCES,
  sinks: SINKS,
  transforms: TRANSFORMS,
  states: STATE_STORES,
  credentials: CREDENTIALS,
  secrets: SECRET_MANAGERS,
};

export const parts: Parts = createParts(LISTS);

/** With the connectors of these packages, which are found from the folder `cwd` on. */
export async function partsWith(packages: readonly string[], cwd: string): Promise<Parts> {
  if (packages.length === 0) return parts;
  const { connectorsOfPackages } = await import('./packages/connectors-of-packages.ts');
  return createParts(LISTS, connectorsOfPackages(packages, cwd));
}

/** What is wrong with packages that were allowed: asking loads them. */
export function packageFaults(
  { sources, sinks }: Parts,
  packages: readonly string[],
): readonly PartFault[] {
  return packages.flatMap((name) => {
    const type = `npm:${name}`;
    const isThere = sources.get(type) !== undefined || sinks.get(type) !== undefined;
    return isThere ? [] : (sources.fault(type) ?? []);
  });
}
