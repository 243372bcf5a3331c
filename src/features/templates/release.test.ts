import { describe, expect, it } from 'vitest';
import type { TemplateState, TemplateVersion } from '../../history/templates.ts';
import { RefusedError } from '../../lib/errors.ts';
import { readAssignable, readChannel, readSelector } from './channels.ts';
import {
  deprecated,
  launched,
  newestOf,
  previousOf,
  revived,
  stableOf,
  statusOf,
  tagged,
  versionDeprecated,
  versionFor,
  versionRevived,
  withoutVersion,
  withVersion,
} from './release.ts';

const ACT = { at: '2026-08-01T00:00:00.000Z', by: 'ann' };

function version(number: number): TemplateVersion {
  return {
    id: 'orders',
    version: number,
    kind: 'pipeline',
    name: null,
    description: null,
    body: '',
    format: 'yaml',
    params: {},
    is_scheduled: false,
    created_at: ACT.at,
    created_by: null,
  };
}

/** A template with so many versions. */
function registered(count: number): TemplateState {
  let state: TemplateState | undefined;
  for (let number = 1; number <= count; number += 1)
    state = withVersion(state, { version: version(number), tags: [] });
  if (state === undefined) throw new Error('cannot happen: no versions');
  return state;
}

const messageOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof RefusedError) return `${error.code}: ${error.message}`;
  }
  throw new Error('nothing was refused');
};

describe('versions', () => {
  it('are numbered on, and no number is given twice', () => {
    const two = registered(2);
    expect([two.versions, two.next_version]).toEqual([[2, 1], 3]);
    const rest = withoutVersion(two, 2) as TemplateState;
    expect([rest.versions, rest.next_version]).toEqual([[1], 3]);
    expect(withoutVersion(rest, 1)).toBeUndefined();
  });

  it('of a template are the newest 20, and those that are in use', () => {
    let state = launched(registered(3), 1, ACT);
    state = tagged(state, 'prod', 2);
    for (let number = 4; number <= 30; number += 1)
      state = withVersion(state, { version: version(number), tags: [] });
    expect(state.versions).toHaveLength(22);
    expect(state.versions.slice(-3)).toEqual([11, 2, 1]);
  });

  it('that are registered move no caller, unless a channel is named', () => {
    const state = launched(registered(1), 1, ACT);
    const next = withVersion(state, { version: version(2), tags: ['dev'] });
    expect([stableOf(next), newestOf(next), next.tags]).toEqual([1, 2, { dev: 2 }]);
  });
});

describe('launching', () => {
  it('moves stable, and keeps what it replaced as previous', () => {
    const draft = registered(3);
    expect([statusOf(draft), stableOf(draft), previousOf(draft)]).toEqual(['draft', null, null]);
    const one = launched(draft, 1, ACT);
    expect([statusOf(one), stableOf(one), previousOf(one)]).toEqual(['launched', 1, null]);
    const three = launched(one, 3, ACT);
    expect([stableOf(three), previousOf(three)]).toEqual([3, 1]);
    expect(three.launches.map(({ seq, version: launch }) => [seq, launch])).toEqual([
      [2, 3],
      [1, 1],
    ]);
    const back = launched(three, 1, ACT);
    expect([stableOf(back), previousOf(back)]).toEqual([1, 3]);
  });

  it('again changes nothing', () => {
    const state = launched(registered(1), 1, ACT);
    expect(launched(state, 1, ACT)).toBe(state);
  });

  it('is refused for what is deprecated, until it is revived', () => {
    const gone = deprecated(registered(2), { reason: 'old', act: ACT });
    expect(statusOf(gone)).toBe('deprecated');
    expect(messageOf(() => launched(gone, 2, ACT))).toMatch(/^unprocessable: .*deprecated/);
    expect(stableOf(launched(revived(gone), 2, ACT))).toBe(2);
    const one = versionDeprecated(registered(2), 2, { reason: undefined, act: ACT });
    expect(messageOf(() => launched(one, 2, ACT))).toMatch(/version 2 .*deprecated/);
    expect(newestOf(one)).toBe(1);
    expect(newestOf(versionRevived(one, 2))).toBe(2);
  });
});

describe('a version that is deleted', () => {
  it('loses its channels, launches and marks', () => {
    let state = launched(launched(registered(3), 1, ACT), 2, ACT);
    state = tagged(tagged(state, 'prod', 2), 'dev', 3);
    state = versionDeprecated(state, 2, { reason: undefined, act: ACT });
    const rest = withoutVersion(state, 2) as TemplateState;
    expect([stableOf(rest), rest.tags, rest.deprecated_versions]).toEqual([1, { dev: 3 }, []]);
  });
});

describe('a version is named', () => {
  const state = tagged(launched(registered(2), 1, ACT), 'pre-prod', 2);

  it.each([
    ['stable', 1],
    ['newest', 2],
    ['PreProd', 2],
    ['pre_prod', 2],
    ['2', 2],
    [2, 2],
    [' 1 ', 1],
  ] as const)('%j is version %d', (given, expected) => {
    expect(versionFor(state, readSelector(given))).toBe(expected);
  });

  it.each([
    ['latest', /`latest` is not a channel/],
    ['0', /0 is not a version/],
    [0, /0 is not a version/],
    [1.5, /no channel/],
    ['nightly', /no channel "nightly"/],
    ['prod', /the channel `prod` of the template `orders` is not set/],
    ['previous', /no previous version/],
  ] as const)('%j is refused', (given, message) => {
    const text = messageOf(() => versionFor(state, readSelector(given)));
    expect(text).toMatch(/^unprocessable: /);
    expect(text).toMatch(message);
  });

  it('a number that is not there is not found; a draft has no stable version', () => {
    expect(messageOf(() => versionFor(state, readSelector(9)))).toMatch(/^not_found: .*version 9/);
    expect(messageOf(() => versionFor(registered(1), readSelector('stable')))).toMatch(
      /no launched version/,
    );
  });

  it('only assignable channels can be assigned', () => {
    expect(readAssignable('Canary')).toBe('canary');
    expect(readChannel('NEWEST')).toBe('newest');
    for (const derived of ['stable', 'previous', 'newest'])
      expect(messageOf(() => readAssignable(derived))).toMatch(/cannot be assigned: it is derived/);
  });
});
