/** What operators look at and change: metrics, channels of templates. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { orders, threeRows, writeOrders } from './documents.ts';
import { expectFlawless, expectToFit, visit, type Visit, type VisitOptions } from './visit.ts';

const chromium = chromiumOrReason();
const LOOKS: readonly VisitOptions[] = [
  { theme: 'light' },
  { theme: 'dark' },
  { theme: 'light', width: 360, height: 740 },
];

describe.skipIf(chromium.reason !== undefined)(`operating [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit | undefined;

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    writeOrders(shop.path('in.csv'));
    const input = shop.path('in.csv');
    program = await shop.start();
    const ids = [
      await program.submit(orders({ name: 'whole', input, folder: shop.dir })),
      await program.submit(threeRows({ name: 'three', input, folder: shop.dir })),
    ];
    await Promise.all(ids.map((id) => program.ended(id)));
    for (const amount of ['1', '2']) {
      const config = `version: 1\nname: shop\npipeline:\n  source: { type: csv, config: { path: a.csv } }\n  transforms:\n    - { type: filter, config: { path: $.amount, op: ne, value: ${amount} } }\n  sink: { type: jsonl, config: { path: b.jsonl } }\n`;
      expect((await program.call('POST', '/v1/templates', { id: 'shop', config })).status).toBe(
        201,
      );
    }
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  const open = async (view: string, options?: VisitOptions): Promise<Visit> => {
    seen = await visit(browser, program.url, options);
    await seen.open(view);
    return seen;
  };

  test('shows at a glance how much the server does, and how it goes', async () => {
    const { page } = await open('/operate/metrics');
    const fact = (name: string) =>
      page.locator('.facts > div', { has: page.getByText(name, { exact: true }) }).locator('dd');
    await fact('Runs, last hour').waitFor();
    expect(await fact('Waiting').innerText()).toBe('0');
    expect(await fact('Executing').innerText()).toBe('0');
    expect(await fact('Memory of the server').innerText()).toMatch(/^\d+(\.\d)? MiB$/);
    expect(await fact('Runs, last hour').innerText()).toBe('2 · 0.03 per minute');
    expect(await fact('Failures, last hour').innerText()).toBe('1');
    expect(await fact('95 % took at most').innerText()).toMatch(/^\d+(\.\d)? (ms|s)$/);
    await page.getByRole('img', { name: 'Runs per minute, last hour: 2, Failed 1' }).waitFor();
    await expect.poll(() => page.locator('.charts canvas').count()).toBe(4);
  });

  test.each(LOOKS)('metrics can be used by everybody: %o', async (look) => {
    const visited = await open('/operate/metrics', look);
    await expect.poll(() => visited.page.locator('.charts canvas').count()).toBe(4);
    await expectFlawless(visited);
    await expectToFit(visited);
  });

  test('points a channel at a version of a template', async () => {
    const visited = await open('/operate/templates/shop');
    const { page } = visited;
    const row = page.getByRole('row', { name: /^prod\b/ });
    await row.getByText('nowhere').waitFor();
    await row.getByLabel('Version for prod').selectOption('1');
    await row.getByRole('button', { name: 'Assign prod' }).click();
    const dialog = page.getByRole('dialog', { name: 'Point prod at version 1?' });
    await expectFlawless(visited);
    await dialog.getByRole('button', { name: 'Assign prod' }).click();
    await page.getByText('prod points at version 1.').waitFor();
    await row.getByRole('cell', { name: '1', exact: true }).waitFor();
    const { status, text } = await program.call('GET', '/v1/templates/shop?version=prod');
    expect([status, text]).toEqual([200, expect.stringContaining('"version":1')]);
    expect(await row.getByRole('button', { name: 'Assign prod' }).isDisabled()).toBe(true);
  });

  test('channels can be used on a phone, in the dark', async () => {
    const visited = await open('/operate/templates/shop', {
      theme: 'dark',
      width: 360,
      height: 740,
    });
    await visited.page.getByRole('button', { name: 'Assign prod' }).waitFor();
    await expectFlawless(visited);
    await expectToFit(visited);
  });
});
