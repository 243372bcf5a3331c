/** Parts that are not of this build: a document names the package that has them (`npm:NAME`). */
import type { Issue } from '../lib/errors.ts';
import type { SinkDefinition } from './sink.ts';
import type { SourceDefinition } from './source.ts';

/** Why a package cannot be used, and what to do. */
export type PartFault = Required<Pick<Issue, 'code' | 'message' | 'hint'>>;

export type FoundDefinition<D> =
  | { readonly ok: true; readonly definition: D }
  | { readonly ok: false; readonly fault: PartFault };

export interface PackageDefinitions<D> {
  /** The packages that documents may name. */
  readonly names: readonly string[];
  /** Loads the package when it is first asked for. Only for one of `names`. */
  find(name: string): FoundDefinition<D>;
}

export interface PartPackages {
  readonly sources: PackageDefinitions<SourceDefinition>;
  readonly sinks: PackageDefinitions<SinkDefinition>;
}

const NONE: PackageDefinitions<never> = Object.freeze({
  names: [],
  find: () => {
    throw new Error('cannot happen: no package may be named');
  },
});

export const NO_PACKAGES: PartPackages = Object.freeze({ sources: NONE, sinks: NONE });

/** As the registries of packages have it: a path, or a part of a package, is no name. */
const NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

export function isPackageName(name: string): boolean {
  return NAME.test(name);
}

/** Why the package cannot be used; `undefined` when it can. */
export function packageFault(
  name: string,
  packages: PackageDefinitions<unknown>,
): PartFault | undefined {
  if (!isPackageName(name)) return badName(name);
  if (packages.names.includes(name)) {
    const found = packages.find(name);
    return found.ok ? undefined : found.fault;
  }
  return {
    code: 'connector_not_allowed',
    message: `the connector of the package \`${name}\` may not be used: it was not allowed when the program was started`,
    hint: `start it with \`--allow-connector ${name}\` if you trust that package, which then runs as a part of this program`,
  };
}

export function badName(name: string): PartFault {
  return {
    code: 'bad_package_name',
    message: `${JSON.stringify(name)} is not the name of a package`,
    hint: 'write `npm:` and the name under which the package is installed, such as `npm:some-connector`; paths are not possible',
  };
}
