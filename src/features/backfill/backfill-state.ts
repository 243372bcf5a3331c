/** Opens the store in which a backfill remembers the units that are done. */
import type { JsonValue } from '../../lib/text/json.ts';
import type { PartContext } from '../../kit/context.ts';
import type { UnsharedStore } from '../../kit/state-store.ts';
import { resolvePart } from '../../plan/resolve.ts';
import type { PlannedRow } from '../../plan/plan.ts';

export interface BackfillState {
  readonly store: UnsharedStore;
  /** Why the state is lost at the end of this process; `undefined` when it is durable. */
  readonly forgets: string | undefined;
}

/** The state store of the row; memory when that is not durable. */
export async function openBackfillState(
  { state }: Pick<PlannedRow, 'state'>,
  context: PartContext,
): Promise<BackfillState> {
  if (state === undefined) return { store: memory(), forgets: 'the document has no `state`' };
  if (!state.definition.durable)
    return {
      store: memory(),
      forgets: `the state store \`${state.type}\` does not outlive the process`,
    };
  const tokens = {
    now: { date: context.env.clock.now(), zone: 'UTC' },
    records: new Map<string, JsonValue>(),
  };
  return {
    store: await state.definition.open(resolvePart(state, tokens), context),
    forgets: undefined,
  };
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
