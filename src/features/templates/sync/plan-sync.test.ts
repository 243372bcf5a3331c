import { expect, test } from 'vitest';
import { planSync, type Known } from './plan-sync.ts';
import type { OriginFile, UnreadFile } from './origin.ts';

const settings = {
  name: 'team',
  prefix: 'team/',
  launch: 'ignore',
  prune: 'deprecate',
} as unknown as Parameters<typeof planSync>[0];

const file = (name: string, body: string, sidecar?: string): OriginFile => ({
  name,
  text: { body, format: 'yaml' },
  sidecar,
});
const ORDERS = 'version: 1\nname: orders\n';
const REFUNDS = 'version: 1\nname: refunds\n';

/** Has both of them, launched. */
const launchedBoth = {
  list: async () =>
    ['orders', 'refunds'].map((name) => ({
      id: `team/${name}`,
      status: 'launched',
      versions: [1],
      stable: 1,
    })),
  get: async (id: string) => ({
    version: 1,
    body: id === 'team/orders' ? ORDERS : REFUNDS,
    format: 'yaml',
    launches: [{ version: 1 }],
  }),
} as unknown as Known;

async function actionsFor(files: readonly (OriginFile | UnreadFile)[]): Promise<string[]> {
  const plan = await planSync(settings, files, launchedBoth);
  return plan.map(({ action, id, name }) => `${action} ${id ?? name}`);
}

test('a template whose file is gone is deprecated', async () => {
  expect(await actionsFor([file('orders.yaml', ORDERS)])).toEqual([
    'unchanged team/orders',
    'deprecate team/refunds',
  ]);
});

test.each(['always', 'follow'])(
  'a template that somebody deprecated collects versions, and none is launched (%s)',
  async (launch) => {
    const registry = (reason: string): Known =>
      ({
        list: async () =>
          ['orders', 'refunds'].map((name) => ({
            id: `team/${name}`,
            status: 'deprecated',
            deprecation: { reason },
            versions: [1],
            stable: null,
          })),
        get: async () => ({ version: 1, body: ORDERS, format: 'yaml', launches: [] }),
      }) as unknown as Known;
    const sidecar = 'launch: true\n';
    const files = [file('orders.yaml', ORDERS, sidecar), file('refunds.yaml', REFUNDS, sidecar)];
    const plan = (reason: string) =>
      planSync({ ...settings, launch } as typeof settings, files, registry(reason));
    expect(await plan('by hand')).toMatchObject([
      { action: 'unchanged', id: 'team/orders' },
      { action: 'register', id: 'team/refunds', launch: false },
    ]);
    expect(await plan('it is gone from the origin team')).toMatchObject([
      { action: 'revive', id: 'team/orders' },
      { action: 'launch', id: 'team/orders' },
      { action: 'revive', id: 'team/refunds' },
      { action: 'register', id: 'team/refunds', launch: true },
    ]);
  },
);

test.each([
  ['its text', file('refunds.yaml', 'name: [')],
  ['what stands beside it', file('refunds.yaml', REFUNDS, 'launch: perhaps')],
  ['its bytes', { name: 'refunds.yaml', fault: 'the file is not UTF-8 text' }],
])('a template whose file cannot be read is not gone: %s', async (_case, broken) => {
  expect(await actionsFor([file('orders.yaml', ORDERS), broken])).toEqual([
    'unchanged team/orders',
    'orphaned team/refunds',
    'skipped refunds.yaml',
  ]);
  const plan = await planSync(settings, [broken], launchedBoth);
  expect(plan.find(({ id }) => id === 'team/refunds')).toMatchObject({
    reason: 'no file of the origin team has it, but refunds.yaml cannot be read and may hold it',
  });
});

/** Two versions of orders, of which the origin has the second. */
const twoVersions = (about: object): Known =>
  ({
    list: async () => [
      { id: 'team/orders', status: 'launched', versions: [2, 1], stable: 1, ...about },
    ],
    get: async () => ({ version: 2, body: ORDERS, format: 'yaml', launches: [], ...about }),
  }) as unknown as Known;

test.each([
  { of: 'that is new is launched', launched: [1], deprecated: [], action: 'launch' },
  { of: 'that was rolled back stays so', launched: [1, 2, 1], deprecated: [], action: 'unchanged' },
  { of: 'that was deprecated stays so', launched: [1], deprecated: [2], action: 'unchanged' },
])('a version $of', async ({ launched, deprecated, action }) => {
  const registry = twoVersions({
    launches: launched.map((version) => ({ version })),
    deprecated_versions: deprecated.map((version) => ({ version })),
  });
  for (const launch of ['always', 'follow'] as const) {
    const files = [file('orders.yaml', ORDERS, 'launch: true')];
    const plan = await planSync({ ...settings, launch }, files, registry);
    expect(plan).toMatchObject([{ action, id: 'team/orders', version: 2 }]);
  }
});
