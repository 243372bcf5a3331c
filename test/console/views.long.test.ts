/** The views of the console, in a browser, on real runs of a real server. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
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
  { theme: 'dark', width: 360, height: 740 },
];

describe.skipIf(chromium.reason !== undefined)(`the console [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit | undefined;
  let ids: { readonly whole: string; readonly failed: string };

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    writeOrders(shop.path('in.csv'));
    const input = shop.path('in.csv');
    program = await shop.start({ args: ['--preview-local-outputs'] });
    const whole = await program.submit(orders({ name: 'whole', input, folder: shop.dir }), {
      labels: { team: 'sales' },
    });
    const failed = await program.submit(threeRows({ name: 'three', input, folder: shop.dir }));
    await Promise.all([program.ended(whole), program.ended(failed)]);
    ids = { whole, failed };
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

  test('lists runs with their states and counts, and keeps the list current', async () => {
    const { page } = await open('/runs');
    const row = page.locator(`[data-run="${ids.whole}"]`);
    await row.waitFor();
    expect(await row.innerText()).toMatch(/Completed[^]*whole[^]*196/);
    expect(await page.locator(`[data-run="${ids.failed}"]`).innerText()).toMatch(
      /Failed[^]*three[^]*gone\.csv/,
    );
    const name = 'comes-later';
    const later = await program.submit(
      orders({ name, input: shop.path('in.csv'), folder: shop.dir }),
    );
    await page.locator(`[data-run="${later}"]`, { hasText: 'Completed' }).waitFor();
    await page.getByRole('img', { name: /[3-9] runs in the last hour, 1 failed/ }).waitFor();
  });

  test('filters runs by an address that anyone can open', async () => {
    const first = await open('/runs?status=failed');
    await first.page.locator(`[data-run="${ids.failed}"]`).waitFor();
    expect(await first.page.locator(`[data-run="${ids.whole}"]`).count()).toBe(0);
    await first.page.getByRole('button', { name: 'Completed' }).click();
    await first.page.locator(`[data-run="${ids.whole}"]`).waitFor();
    expect(first.page.url()).toMatch(/#\/runs\?status=completed,failed$/);
    await first.page.goto(`${program.url}/#/runs?name=nobody-has-it`);
    await first.page.getByText('No run matches these filters').waitFor();
    await first.page.getByRole('button', { name: 'Clear filters' }).last().click();
    await first.page.locator(`[data-run="${ids.whole}"]`).waitFor();
  });

  test('opens, selects and deletes runs with the keyboard alone', async () => {
    const doomed = await program.submit(
      orders({ name: 'doomed', input: shop.path('in.csv'), folder: shop.dir }),
    );
    await program.ended(doomed);
    const { page } = await open('/runs');
    await page.locator(`[data-run="${doomed}"]`).waitFor();
    await expectFocus(page, 'Home', `[data-run="${doomed}"]`);
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    await page.keyboard.press('Delete');
    const dialog = page.getByRole('dialog', { name: 'Delete 1 run from the history?' });
    await dialog.getByText('Their records and logs are erased for good').waitFor();
    await dialog.getByRole('button', { name: 'Delete them' }).focus();
    await page.keyboard.press('Enter');
    // Keys that come before it is gone are for the dialog.
    await dialog.waitFor({ state: 'detached' });
    await page.locator(`[data-run="${doomed}"]`).waitFor({ state: 'detached' });
    expect((await program.call('GET', `/v1/runs/${doomed}`)).status).toBe(404);
    await expectFocus(page, 'Home', '[data-run]');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Receipt' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByRole('grid', { name: 'Runs' }).waitFor();
  });

  test('shows where every record of a run went, and that the balance closes', async () => {
    const { page } = await open(`/runs/${ids.whole}`);
    await page.getByText('The balance closes').waitFor();
    const term = (kind: string) => page.locator(`[data-term="${kind}"] dd`).innerText();
    expect(await Promise.all(['read', 'filtered', 'dead_lettered', 'written'].map(term))).toEqual([
      '200',
      '−1',
      '+3',
      '=196',
    ]);
    expect(await page.locator('.flow path').count()).toBe(4);
    await page.getByRole('cell', { name: 'row-0' }).waitFor();
  });

  test('says why a run failed, where in the document, and what to do', async () => {
    const { page } = await open(`/runs/${ids.failed}`);
    const why = page.getByRole('region', { name: 'Why it failed' });
    await why.getByText('lost', { exact: true }).waitFor();
    expect(await why.innerText()).toMatch(
      /gone\.csv[^]*matrix\[2\]\.source, line 10[^]*check the path/,
    );
    const bars = page.getByRole('table', { name: /^Timeline/ });
    expect(await bars.getByRole('row').count()).toBe(4);
  });

  test('searches the log of a run, at its levels', async () => {
    const { page } = await open(`/runs/${ids.failed}?tab=log`);
    const lines = page.getByRole('list', { name: 'Lines of the log' }).getByRole('listitem');
    await lines.filter({ hasText: 'pipeline run starting' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search the log' }).fill('row=NORTH');
    await page.getByText(/^2 of \d+ lines$/).waitFor();
    expect(await page.locator('mark').first().innerText()).toBe('row=north');
    await page.getByRole('searchbox', { name: 'Search the log' }).fill('');
    await page.getByLabel('Level').selectOption('error');
    await expect.poll(() => lines.allInnerTexts()).toHaveLength(2);
    await expect.poll(() => lines.first().innerText()).toContain('row failed row=lost');
  });

  test('shows plan, outputs and details of a run', async () => {
    const { page } = await open(`/runs/${ids.whole}?tab=plan`);
    await page.getByText('transform `cast`').waitFor();
    expect(await page.locator('.lane').innerText()).toMatch(/csv[^]*cast[^]*filter[^]*jsonl/);
    await page.getByRole('link', { name: 'Outputs' }).click();
    await page
      .getByRole('row', { name: /whole\.jsonl/ })
      .getByRole('button')
      .click();
    const preview = page.getByRole('dialog', { name: /^First records of / });
    await preview.getByRole('cell', { name: 'name 1', exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Details' }).click();
    await page.getByText('team=sales').waitFor();
  });

  test('draws how the rows of a run hang together, and lists it', async () => {
    const { page } = await open(`/runs/${ids.failed}?tab=plan`);
    const graph = page.getByRole('group', {
      name: 'How the rows and nodes of the run hang together',
    });
    await graph.getByRole('button', { name: /^lost.*Failed/ }).waitFor();
    // Two rows read one file, which is drawn once.
    expect(await graph.getByRole('button', { name: /^in\.csv/ }).count()).toBe(1);
    await page.getByText('8 nodes, 6 connections').waitFor();
    await page.getByRole('button', { name: 'Table' }).click();
    await page.getByRole('row', { name: 'gone.csv lost' }).waitFor();
    expect(await page.getByRole('row').count()).toBe(7);
  });

  test('saves the receipt of a run as one file', async () => {
    const { page } = await open(`/runs/${ids.whole}`);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Receipt' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe(`headgate-${ids.whole}.html`);
    const target = shop.path('receipt.html');
    await file.saveAs(target);
    expect(readFileSync(target, 'utf8')).toContain('The balance closes');
  });

  test('runs a run again, after it has said what that does', async () => {
    const { page } = await open(`/runs/${ids.whole}`);
    await page.getByRole('button', { name: 'Run again' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run this again?' });
    await dialog.getByText('It writes to the same destinations.').waitFor();
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await page.waitForURL((url) => url.hash.startsWith('#/runs/') && !url.hash.includes(ids.whole));
    const again = new URL(page.url()).hash.replace('#/runs/', '');
    expect((await program.ended(again)).labels).toMatchObject({ rerun_of: ids.whole });
    await page.getByText('The balance closes').waitFor();
  });

  test('lists what the server operates and what runs have moved', async () => {
    const { page } = await open('/operate/audit');
    await page.getByRole('cell', { name: 'run.submit' }).first().waitFor();
    await page.getByRole('link', { name: 'Schedules' }).click();
    await page.getByText('Start the server with --schedules DIR').waitFor();
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByRole('link', { name: 'Data' })
      .click();
    await page.getByRole('link', { name: /whole\.jsonl$/ }).click();
    await page.getByRole('img', { name: /Records moved by each run: .*196/ }).waitFor();
    await page.getByRole('cell', { name: 'amount' }).waitFor();
    await page.getByRole('link', { name: 'Lineage' }).click();
    await page.getByRole('button', { name: /^whole\.jsonl/ }).waitFor();
    await page.getByRole('button', { name: 'Table' }).click();
    await page.getByRole('row', { name: /in\.csv.*whole\.jsonl/ }).waitFor();
    await page.getByRole('link', { name: 'Dead letters' }).click();
    await page.getByLabel('File, folder or glob on the server').fill(shop.path('bad.jsonl'));
    await page.getByRole('button', { name: 'Inspect' }).click();
    await page.getByText(/dead letters in 1 file/).waitFor();
  });

  const VIEWS: readonly (readonly [string, () => string, string])[] = [
    ['runs', () => '/runs', 'three'],
    ['a run', () => `/runs/${ids.whole}`, 'The balance closes'],
    ['a run that failed', () => `/runs/${ids.failed}`, 'Why it failed'],
    ['a log', () => `/runs/${ids.failed}?tab=log`, 'pipeline run starting'],
    ['a plan', () => `/runs/${ids.whole}?tab=plan`, 'Write mode'],
    ['outputs', () => `/runs/${ids.failed}?tab=outputs`, 'north.jsonl'],
    ['details', () => `/runs/${ids.whole}?tab=details`, 'Labels'],
    ['the editor', () => '/author', 'Start with an example'],
    ['schedules', () => '/operate', 'No schedule'],
    ['audit', () => '/operate/audit', 'run.submit'],
    ['data sets', () => '/data', 'in.csv'],
    ['lineage', () => '/data/lineage', 'whole.jsonl'],
    ['a graph of rows', () => `/runs/${ids.failed}?tab=plan`, 'gone.csv'],
  ];

  test.each(VIEWS)(
    'can be used by everybody: %s',
    async (_name, address, text) => {
      for (const look of LOOKS) {
        const visited = await open(address(), look);
        await visited.page.getByText(text).first().waitFor();
        await expectFlawless(visited);
        await expectToFit(visited);
        await visited.close();
      }
    },
    180_000,
  );
});

/** A key that leads to the same row however often it is pressed: the first ones may come too early. */
async function expectFocus(page: Page, key: string, selector: string): Promise<void> {
  await expect
    .poll(async () => {
      await page.keyboard.press(key);
      return page.locator(`${selector}:focus`).count();
    })
    .toBe(1);
}
