/** Opens the store in which a backfill remembers the units that are done. */
import type { JsonValue } from '../../lib/text/json.ts';
import type { PartContext } from '../../kit/context.ts';
import type { StateStore, UnsharedStore } from '../../kit/state-store.ts';
import { resolvePart } from '../../plan/resolve.ts';
import type { PlannedRow } from '../../plan/plan.ts';

export interface BackfillState {
  readonly store: UnsharedStore;
  /** The same store where other processes may use it too. */
  readonly shared: StateStore | undefined;
  /** Why the state is lost at the end of this process; `undefined` when it is durable. */
  readonly forgets: string | undefined;
}

/** The state store of the row; memory when that is not durable. */
export async function openBackfillState(
  { state }: Pick<PlannedRow, 'state'>,
  context: PartContext,
): Promise<BackfillState> {
  if (state === undefined)
    return { store: memory(), shared: undefined, forgets: 'the document has no `state`' };
  if (!state.definition.durable)
    return {
      store: memory(),
      shared: undefined,
      forgets: `the state store \`${state.type}\` does not outlive the process`,
    };
  const tokens = {
    now: { date: context.env.clock.now(), zone: 'UTC' },
    records: new Map<string, JsonValue>(),
  };
  const shared = await state.definition.open(resolvePart(state, tokens), context);
  return { store: shared, shared, forgets: undefined };
}

function memory(): UnsharedStore {
  const values = new Map<string, JsonValue>();
  return {
    get: (key) => Promise.resolve(values.get(key)),
    put: (key, value) => Promise.resolve(void values.set(key, value)),
    delete: (key) => Promise.resolve(void values.delete(key)),
    close: () => Promise.resolve(),
  };
}
