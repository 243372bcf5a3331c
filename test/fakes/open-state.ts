import type { StateStore, StateStoreDefinition } from '../../src/kit/state-store.ts';
import { check } from '../../src/kit/schema.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { partContext, testEnv } from './env.ts';

export async function openState(
  definition: StateStoreDefinition,
  config: JsonObject,
  cwd = '/',
): Promise<StateStore> {
  const checked = check(definition.config, config);
  if (!checked.ok)
    throw new Error(checked.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; '));
  return definition.open(checked.value, partContext({ env: testEnv({ cwd }) }));
}
