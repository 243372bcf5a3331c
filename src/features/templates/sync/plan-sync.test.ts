import { expect, test } from 'vitest';
import { planSync, type Known } from './plan-sync.ts';
import type { OriginFile } from './origin.ts';

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
const registry = {
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
  }),
} as unknown as Known;

async function actionsFor(files: readonly OriginFile[]): Promise<string[]> {
  const plan = await planSync(settings, files, registry);
  return plan.map(({ action, id, name }) => `${action} ${id ?? name}`);
}

test('a template whose file is gone is deprecated', async () => {
  expect(await actionsFor([file('orders.yaml', ORDERS)])).toEqual([
    'unchanged team/orders',
    'deprecate team/refunds',
  ]);
});

test.each([
  ['its text', file('refunds.yaml', 'name: [')],
  ['what stands beside it', file('refunds.yaml', REFUNDS, 'launch: perhaps')],
])('a template whose file cannot be read is not gone: %s', async (_case, broken) => {
  expect(await actionsFor([file('orders.yaml', ORDERS), broken])).toEqual([
    'unchanged team/orders',
    'orphaned team/refunds',
    'skipped refunds.yaml',
  ]);
  const plan = await planSync(settings, [broken], registry);
  expect(plan.find(({ id }) => id === 'team/refunds')).toMatchObject({
    reason: 'no file of the origin team has it, but refunds.yaml cannot be read and may hold it',
  });
});
