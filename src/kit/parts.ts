import { suggestion } from '../lib/text/nearest.ts';
import type { CredentialDefinition } from './credential.ts';
import type { SecretManagerDefinition } from './secrets.ts';
import type { SinkDefinition } from './sink.ts';
import type { SourceDefinition } from './source.ts';
import type { StateStoreDefinition } from './state-store.ts';
import type { TransformDefinition } from './transform.ts';

/** All parts of a build, as plain lists (`src/parts.ts` is the one place that fills them). */
export interface PartLists {
  readonly sources: readonly SourceDefinition[];
  readonly sinks: readonly SinkDefinition[];
  readonly transforms: readonly TransformDefinition[];
  readonly states: readonly StateStoreDefinition[];
  readonly credentials: readonly CredentialDefinition[];
  readonly secrets: readonly SecretManagerDefinition[];
}

interface Named {
  readonly type: string;
  readonly aliases?: readonly string[];
}

/** Definitions, found by type or alias. */
export class Registry<D extends Named> {
  readonly all: readonly D[];
  readonly #byName = new Map<string, D>();

  constructor(definitions: readonly D[]) {
    this.all = [...definitions].sort((a, b) => (a.type < b.type ? -1 : 1));
    for (const definition of definitions) {
      for (const name of [definition.type, ...(definition.aliases ?? [])]) {
        if (this.#byName.has(name)) throw new Error(`two parts are called ${name}`);
        this.#byName.set(name, definition);
      }
    }
  }

  get(type: string): D | undefined {
    return this.#byName.get(type);
  }

  types(): string[] {
    return this.all.map((definition) => definition.type);
  }

  /** `did you mean "postgres"?`, or the list of available types. */
  suggest(type: string): string | undefined {
    return suggestion(type, this.types(), 'available');
  }
}

export interface Parts {
  readonly sources: Registry<SourceDefinition>;
  readonly sinks: Registry<SinkDefinition>;
  readonly transforms: Registry<TransformDefinition>;
  readonly states: Registry<StateStoreDefinition>;
  readonly credentials: Registry<CredentialDefinition>;
  readonly secrets: Registry<SecretManagerDefinition>;
}

export function createParts(lists: PartLists): Parts {
  return Object.freeze({
    sources: new Registry(lists.sources),
    sinks: new Registry(lists.sinks),
    transforms: new Registry(lists.transforms),
    states: new Registry(lists.states),
    credentials: new Registry(lists.credentials),
    secrets: new Registry(lists.secrets),
  });
}
