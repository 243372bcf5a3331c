import type { StateStoreDefinition } from '../../kit/state-store.ts';
import type { AssembledPart } from '../../plan/plan-part.ts';
import type { PlannedState } from '../../plan/plan.ts';

/** The state store of a row while it is assembled. */
export interface AssembledState {
  readonly state?: AssembledPart<StateStoreDefinition> | undefined;
}

/** The state store of a planned row. */
export interface StateOfRow {
  readonly state: PlannedState | undefined;
}
