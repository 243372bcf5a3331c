/** The one list of what this build contains. */
import { SINKS, SOURCES } from './connectors/index.ts';
import { CREDENTIALS } from './credentials/index.ts';
import { createParts, type Parts } from './kit/parts.ts';
import { SECRET_MANAGERS } from './secrets/index.ts';
import { STATE_STORES } from './state/index.ts';
import { TRANSFORMS } from './transforms/index.ts';

export const parts: Parts = createParts({
  sources: SOURCES,
  sinks: SINKS,
  transforms: TRANSFORMS,
  states: STATE_STORES,
  credentials: CREDENTIALS,
  secrets: SECRET_MANAGERS,
});
