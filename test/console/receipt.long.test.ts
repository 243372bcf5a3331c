/** The receipt page as people open it: from a disk, without a server, with hostile names. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workshop } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { orders, threeRows, writeOrders } from './documents.ts';
import { expectFlawless, expectToFit, visit } from './visit.ts';

const chromium = chromiumOrReason();
const HOSTILE = '<img src=x onerror=alert(1)>';

describe.skipIf(chromium.reason !== undefined)(`the receipt [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let pages: { readonly whole: string; readonly failed: string };

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    writeOrders(shop.path('in.csv'));
    const folder = shop.path(HOSTILE);
    mkdirSync(folder);
    const program = await shop.start();
    const input = shop.path('in.csv');
    const whole = await program.submit(orders({ name: 'whole', input, folder }), {
      name: `${HOSTILE} orders`,
      labels: { team: '"><script>alert(2)</script>' },
    });
    const failed = await program.submit(threeRows({ name: 'three', input, folder: shop.dir }));
    await Promise.all([program.ended(whole), program.ended(failed)]);
    const save = async (id: string): Promise<string> => {
      const { status, text } = await program.call('GET', `/runs/${id}/receipt`);
      expect(status).toBe(200);
      const path = shop.path(`${id}.html`);
      writeFileSync(path, text);
      return pathToFileURL(path).href;
    };
    pages = { whole: await save(whole), failed: await save(failed) };
  });
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('can be read by everybody, %s and %d px wide', async (theme, width) => {
    const seen = await visit(browser, pages.whole, { theme, width });
    const { page } = seen;
    await page.goto(pages.whole);
    await page.getByRole('heading', { name: `${HOSTILE} orders` }).waitFor();
    await page.getByText('The balance closes: every record is accounted for.').waitFor();
    expect(await page.locator('[data-term="written"] dd').innerText()).toBe('=196');
    expect(await page.locator('img, script, a, [onerror]').count()).toBe(0);
    // Its own policy holds: the style sheet is in force, and nothing was refused.
    const radius = 'getComputedStyle(document.querySelector(".card")).borderRadius';
    expect(await page.evaluate<string>(radius)).toBe('8px');
    await expectFlawless(seen);
    await expectToFit(seen);
    await seen.close();
  });

  test('names the place of an error, and what each file holds', async () => {
    const seen = await visit(browser, pages.failed);
    const { page } = seen;
    await page.goto(pages.failed);
    const text = await page.locator('main').innerText();
    expect(text).toMatch(/Why it failed[^]*gone\.csv[^]*matrix\[2\]\.source, line 10/);
    expect(text).toMatch(/north\.jsonl\s+north\s+[\d,]+\s+[0-9a-f]{64}/);
    await seen.close();
  });

  test('prints on pages without what paper does not need', async () => {
    const seen = await visit(browser, pages.whole, { theme: 'dark' });
    await seen.page.goto(pages.whole);
    const pdf = await seen.page.pdf({ format: 'A4' });
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    expect(readFileSync(new URL(pages.whole), 'utf8')).toContain('@media print');
    await seen.close();
  });
});
