/** A state store with the config of one fixture. */
import { check } from '../../../src/kit/schema.ts';
import type { StateStore, StateStoreDefinition } from '../../../src/kit/state-store.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { partContext } from '../../fakes/env.ts';

/** What the suite of state stores is told about one way to configure a store. */
export interface StateFixture {
  readonly name?: string;
  /** Why the store cannot be tested on this machine. */
  readonly missing?: string;
  start?(): Promise<void>;
  stop?(): Promise<void>;
  /** An empty store. Opened again with the same config it is the same store. */
  fresh(): Promise<JsonObject>;
}

export class StateSubject {
  readonly definition: StateStoreDefinition;
  readonly config: JsonObject;

  constructor(definition: StateStoreDefinition, config: JsonObject) {
    this.definition = definition;
    this.config = config;
  }

  open(): Promise<StateStore> {
    return openStore(this.definition, this.config);
  }

  async using<T>(work: (store: StateStore) => Promise<T>): Promise<T> {
    const store = await this.open();
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
}

export async function openStore(
  definition: StateStoreDefinition,
  config: JsonObject,
): Promise<StateStore> {
  const checked = check(definition.config, config);
  if (!checked.ok) throw new Error(`the config is not valid: ${JSON.stringify(checked.issues)}`);
  return definition.open(checked.value, partContext());
}
