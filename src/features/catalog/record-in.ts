import { memoryCatalog, openCatalog, type OpenCatalog } from '../../history/open-catalog.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Movement } from '../../wire/catalog.ts';
import { createCatalog } from './catalog.ts';

/**
 * Records movements in the catalog at an address. Never throws: one that cannot be reached is stood
 * in for by memory.
 */
export async function recordIn(
  url: string,
  movements: readonly Movement[],
  env: Env,
): Promise<void> {
  const { store, close } = await openOrMemory(url, env);
  const catalog = createCatalog(store, env);
  catalog.record(movements);
  await catalog.settled();
  await close();
}

async function openOrMemory(url: string, env: Env): Promise<OpenCatalog> {
  try {
    return await openCatalog(url, env);
  } catch (error) {
    const why = env.redactor.text(messageOf(error));
    env.log
      .at('headgate::catalog')
      .warn('the catalog cannot be reached; movements of this run are kept only until it ends', {
        error: why,
      });
    return memoryCatalog();
  }
}
