import type { StateStoreDefinition } from '../kit/state-store.ts';
import { fileState } from './file.ts';
import { memoryState } from './memory.ts';
import { postgresState } from './postgres.ts';
import { redisState } from './redis.ts';
import { sqliteState } from './sqlite.ts';

/** Every state store of this build, sorted by type. */
export const STATE_STORES: readonly StateStoreDefinition[] = [
  fileState,
  memoryState,
  postgresState,
  redisState,
  sqliteState,
];
