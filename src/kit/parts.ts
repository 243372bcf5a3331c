import { suggestion } from '../lib/text/nearest.ts';
import type { CredentialDefinition } from './credential.ts';
import {
  NO_PACKAGES,
  packageFault,
  type PackageDefinitions,
  type PartFault,
  type PartPackages,
} from './part-packages.ts';
import type { SecretManagerDefinition } from './secrets.ts';
import type { SinkDefinition } from './sink.ts';
import { soughtHint } from './sought-types.ts';
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

/** Definitions, found by type or alias; those of packages by `npm:` and the name of the package. */
export class Registry<D extends Named> {
  readonly #own: readonly D[];
  readonly #byName = new Map<string, D>();
  readonly #packages: PackageDefinitions<D> | undefined;

  /** Without `packages` parts of this kind are never in packages. */
  constructor(definitions: readonly D[], packages?: PackageDefinitions<D>) {
    this.#own = [...definitions].sort((a, b) => (a.type < b.type ? -1 : 1));
    this.#packages = packages;
    for (const definition of definitions) {
      for (const name of [definition.type, ...(definition.aliases ?? [])]) {
        if (this.#byName.has(name)) throw new Error(`two parts are called ${name}`);
        this.#byName.set(name, definition);
      }
    }
  }

  /** Sorted, those of packages behind the others; packages that cannot be used are left out. */
  get all(): readonly D[] {
    if (this.#packages === undefined || this.#packages.names.length === 0) return this.#own;
    return [...this.#own, ...this.#packages.names.flatMap((name) => this.#find(name) ?? [])];
  }

  get(type: string): D | undefined {
    const own = this.#byName.get(type);
    if (own !== undefined || this.#packages === undefined) return own;
    const name = nameOfPackage(type);
    return name === undefined ? undefined : this.#find(name);
  }

  types(): string[] {
    return this.all.map((definition) => definition.type);
  }

  /** What is wrong with a type that names a package; `undefined` for every other one. */
  fault(type: string): PartFault | undefined {
    const name = nameOfPackage(type);
    if (name === undefined || this.#packages === undefined) return undefined;
    return packageFault(name, this.#packages);
  }

  /** `did you mean "postgres"?`, or the list of available types. */
  suggest(type: string): string | undefined {
    const fault = this.fault(type);
    return fault === undefined
      ? (soughtHint(type, this.types()) ?? suggestion(type, this.types(), 'available'))
      : `${fault.message}; ${fault.hint}`;
  }

  /** With these as well. */
  with(definitions: readonly D[]): Registry<D> {
    return new Registry([...this.#own, ...definitions], this.#packages);
  }

  #find(name: string): D | undefined {
    if (this.#packages?.names.includes(name) !== true) return undefined;
    const found = this.#packages.find(name);
    return found.ok ? found.definition : undefined;
  }
}

const PREFIX = 'npm:';

function nameOfPackage(type: string): string | undefined {
  return type.startsWith(PREFIX) ? type.slice(PREFIX.length) : undefined;
}

export interface Parts {
  readonly sources: Registry<SourceDefinition>;
  readonly sinks: Registry<SinkDefinition>;
  readonly transforms: Registry<TransformDefinition>;
  readonly states: Registry<StateStoreDefinition>;
  readonly credentials: Registry<CredentialDefinition>;
  readonly secrets: Registry<SecretManagerDefinition>;
}

export function createParts(lists: PartLists, packages: PartPackages = NO_PACKAGES): Parts {
  return Object.freeze({
    sources: new Registry(lists.sources, packages.sources),
    sinks: new Registry(lists.sinks, packages.sinks),
    transforms: new Registry(lists.transforms),
    states: new Registry(lists.states),
    credentials: new Registry(lists.credentials),
    secrets: new Registry(lists.secrets),
  });
}
