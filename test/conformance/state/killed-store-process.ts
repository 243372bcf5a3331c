/** Entry of the process that `putAndKill` starts. */
import { STATE_STORES } from '../../../src/state/index.ts';
import { BROKEN_STORES } from '../broken/states.ts';
import type { StoreTask } from './killed-store.ts';
import { openStore } from './subject.ts';

const { type, config, put, remove } = JSON.parse(process.argv[2] ?? '') as StoreTask;
const definition = [...STATE_STORES, ...BROKEN_STORES.map((one) => one.definition)].find(
  (one) => one.type === type,
);
if (definition === undefined) throw new Error(`there is no state store ${type}`);
const store = await openStore(definition, config);
for (const [key, value] of Object.entries(put)) await store.put(key, value ?? null);
for (const key of remove) await store.delete(key);
// Hangs: only the signal ends it, and nothing is closed.
setInterval(() => {}, 60_000);
process.send?.('done');
