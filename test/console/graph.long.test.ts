/** Graphs that are large: placed beside the page, drawn as far as they are seen, walked by keys. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { expectFlawless, expectToFit, visit, type Visit } from './visit.ts';

const chromium = chromiumOrReason();
const [NODES, MOST_ELEMENTS] = [2000, 400];

describe.skipIf(chromium.reason !== undefined)(`large graphs [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit | undefined;

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    program = await shop.start({ args: ['--history', 'memory'] });
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  /** Each data set is made of one or two that came before it, as in a warehouse. */
  async function answerWithLineage(page: Page): Promise<void> {
    const time = '2026-01-01T00:00:00Z';
    const edge = (from: number, to: number) => ({
      src_id: idOf(from),
      dst_id: idOf(to),
      src_uri: uriOf(from),
      dst_uri: uriOf(to),
      pipeline: 'p',
      row: `row-${to}`,
      first_seen: time,
      last_seen: time,
      last_run_id: 'run',
      runs: 1,
      last_records: 1,
    });
    const edges = Array.from({ length: NODES - 1 }, (_, index) => index + 1).flatMap((to) => [
      edge(Math.floor(to / 3), to),
      ...(to > 40 && to % 7 === 0 ? [edge(Math.floor(to / 2), to)] : []),
    ]);
    await page.route('**/v1/catalog/lineage*', (route) => route.fulfill({ json: { edges } }));
  }
  const idOf = (index: number): string => index.toString(16).padStart(16, '0');
  const uriOf = (index: number): string => `postgres://db/shop/table_${index}`;

  test('2,000 data sets are placed while the page is used, and few of them are elements', async () => {
    seen = await visit(browser, program.url);
    const { page } = seen;
    await answerWithLineage(page);
    await seen.open('/data/lineage');
    await page.getByText(/^2,000 nodes/).waitFor();
    // Who does not want to wait takes the table.
    await page.getByRole('button', { name: 'Table' }).click();
    await page
      .getByRole('cell', { name: uriOf(1), exact: true })
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Graph' }).click();
    const graph = page.getByRole('group', { name: 'Which data set was made from which' });
    await graph.getByRole('button', { name: /^table_0\b/ }).waitFor();
    expect(await graph.getByRole('button').count()).toBeLessThan(MOST_ELEMENTS);
    await page.getByRole('button', { name: 'Fit' }).click();
    await expect.poll(() => graph.getByRole('button').count()).toBe(1);
    await expectFlawless(seen);
    await page.getByLabel('Find a node').fill('table_1999');
    await page.getByText('1 found').waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => focused(page)).toMatch(/^table_1999/);
    // Back along the connections to what it was made of.
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => focused(page)).toMatch(/^table_(666|999)/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/data\/datasets\/0{13}(29a|3e7)$/);
  });

  test('it fits on a phone, in the dark', async () => {
    seen = await visit(browser, program.url, { theme: 'dark', width: 360, height: 740 });
    await answerWithLineage(seen.page);
    await seen.open('/data/lineage');
    await seen.page.getByRole('button', { name: /^table_0\b/ }).waitFor();
    await expectFlawless(seen);
    await expectToFit(seen);
  });
});

function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement?.textContent ?? ""');
}
