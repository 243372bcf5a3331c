/**
 * The release state of a template: each function gives the state after a change, or throws a
 * `RefusedError`. Nothing here reads or stores.
 */
import type {
  Deprecation,
  Launch,
  TemplateState,
  TemplateVersion,
} from '../../history/templates.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { AssignableChannel, Channel, VersionSelector } from './channels.ts';

/** The newest versions of a template; older ones are dropped when one is registered. */
export const KEPT_VERSIONS = 20;

export type TemplateStatus = 'draft' | 'launched' | 'deprecated';

/** Who changes a template, and when. */
export interface Act {
  readonly at: string;
  readonly by: string | undefined;
}

export function statusOf(state: TemplateState): TemplateStatus {
  if (state.deprecation !== undefined) return 'deprecated';
  return stableOf(state) === null ? 'draft' : 'launched';
}

/** The launched version. */
export function stableOf({ launches }: TemplateState): number | null {
  return launches[0]?.version ?? null;
}

/** The version that a rollback launches again. */
export function previousOf(state: TemplateState): number | null {
  const stable = stableOf(state);
  return state.launches.find(({ version }) => version !== stable)?.version ?? null;
}

/** The last registered version that is not deprecated. */
export function newestOf(state: TemplateState): number | null {
  return state.versions.find((version) => deprecationOf(state, version) === undefined) ?? null;
}

export function deprecationOf(
  { deprecated_versions }: TemplateState,
  version: number,
): Deprecation | undefined {
  return deprecated_versions.find((one) => one.version === version);
}

/** Throws `not_found` for a version that is not there, `unprocessable` for an unset channel. */
export function versionFor(state: TemplateState, selector: VersionSelector): number {
  if (selector.by === 'channel') return channelVersion(state, selector.channel);
  if (!state.versions.includes(selector.version))
    throw new RefusedError(
      'not_found',
      `the template \`${state.id}\` has no version ${selector.version}`,
      { hint: `it has: ${state.versions.join(', ')}` },
    );
  return selector.version;
}

function channelVersion(state: TemplateState, channel: Channel): number {
  const { id, tags } = state;
  const refuse = (message: string, hint: string): never => {
    throw new RefusedError('unprocessable', message, { hint });
  };
  switch (channel) {
    case 'stable':
      return (
        stableOf(state) ??
        refuse(
          `the template \`${id}\` has no launched version`,
          'launch one, or name a version, such as `newest`',
        )
      );
    case 'previous':
      return (
        previousOf(state) ??
        refuse(`the template \`${id}\` has no previous version`, 'only one version was launched')
      );
    case 'newest':
      return (
        newestOf(state) ??
        refuse(
          `every version of the template \`${id}\` is deprecated`,
          'register a version, or revive one',
        )
      );
    default:
      return (
        tags[channel] ??
        refuse(
          `the channel \`${channel}\` of the template \`${id}\` is not set`,
          `point it at a version with POST /v1/templates/{id}/tags`,
        )
      );
  }
}

/** The state with one version more; `version` has its number. */
export function withVersion(
  before: TemplateState | undefined,
  {
    version,
    tags,
  }: { readonly version: TemplateVersion; readonly tags: readonly AssignableChannel[] },
): TemplateState {
  const { id, kind, created_at } = version;
  const first: TemplateState = {
    id,
    kind,
    revision: 0,
    versions: [],
    next_version: 1,
    tags: {},
    launches: [],
    deprecated_versions: [],
    registered_at: created_at,
  };
  const state = before ?? first;
  const versions = [version.version, ...state.versions];
  const pointed = Object.fromEntries(tags.map((tag) => [tag, version.version]));
  const all: TemplateState = {
    ...state,
    versions,
    next_version: version.version + 1,
    tags: { ...state.tags, ...pointed },
    registered_at: created_at,
    revision: state.revision + 1,
  };
  return without(
    all,
    versions.slice(KEPT_VERSIONS).filter((old) => !isUsed(all, old)),
  );
}

/** What runs by default, and what a channel points at, is never dropped for its age. */
function isUsed(state: TemplateState, version: number): boolean {
  return (
    stableOf(state) === version ||
    previousOf(state) === version ||
    Object.values(state.tags).includes(version)
  );
}

export function launched(state: TemplateState, version: number, act: Act): TemplateState {
  const { id, deprecation } = state;
  if (deprecation !== undefined)
    throw new RefusedError('unprocessable', `the template \`${id}\` is deprecated`, {
      hint: 'revive it first: POST /v1/templates/{id}/deprecate with `undo: true`',
    });
  if (deprecationOf(state, version) !== undefined)
    throw new RefusedError(
      'unprocessable',
      `version ${version} of the template \`${id}\` is deprecated`,
      { hint: 'revive it first, or launch another version' },
    );
  if (stableOf(state) === version) return state;
  const launch: Launch = {
    seq: (state.launches[0]?.seq ?? 0) + 1,
    version,
    launched_at: act.at,
    ...(act.by === undefined ? {} : { launched_by: act.by }),
  };
  return changed(state, { launches: [launch, ...state.launches] });
}

export function tagged(
  state: TemplateState,
  tag: AssignableChannel,
  version: number,
): TemplateState {
  return changed(state, { tags: { ...state.tags, [tag]: version } });
}

export function deprecated(
  state: TemplateState,
  { reason, act }: { readonly reason: string | undefined; readonly act: Act },
): TemplateState {
  return changed(state, { deprecation: deprecationBy(reason, act) });
}

export function revived(state: TemplateState): TemplateState {
  const { deprecation: _, ...rest } = state;
  return changed(rest, {});
}

export function versionDeprecated(
  state: TemplateState,
  version: number,
  { reason, act }: { readonly reason: string | undefined; readonly act: Act },
): TemplateState {
  const others = state.deprecated_versions.filter((one) => one.version !== version);
  return changed(state, {
    deprecated_versions: [...others, { version, ...deprecationBy(reason, act) }],
  });
}

export function versionRevived(state: TemplateState, version: number): TemplateState {
  return changed(state, {
    deprecated_versions: state.deprecated_versions.filter((one) => one.version !== version),
  });
}

/** The state without these versions and everything that points at them. */
export function without(state: TemplateState, gone: readonly number[]): TemplateState {
  if (gone.length === 0) return state;
  const stays = (version: number): boolean => !gone.includes(version);
  return {
    ...state,
    versions: state.versions.filter(stays),
    tags: Object.fromEntries(Object.entries(state.tags).filter(([, version]) => stays(version))),
    launches: state.launches.filter(({ version }) => stays(version)),
    deprecated_versions: state.deprecated_versions.filter(({ version }) => stays(version)),
  };
}

export function withoutVersion(state: TemplateState, version: number): TemplateState | undefined {
  const rest = without(state, [version]);
  return rest.versions.length === 0 ? undefined : changed(rest, {});
}

function deprecationBy(reason: string | undefined, { at, by }: Act): Deprecation {
  return {
    deprecated_at: at,
    ...(by === undefined ? {} : { deprecated_by: by }),
    ...(reason === undefined ? {} : { reason }),
  };
}

function changed(state: TemplateState, changes: Partial<TemplateState>): TemplateState {
  return { ...state, ...changes, revision: state.revision + 1 };
}
