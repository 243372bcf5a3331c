/**
 * Lists that are long: only what is seen is drawn, and the rest can be reached. How smoothly that
 * goes is measured by hand, because a busy machine would decide such a test.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { orders, writeOrders } from './documents.ts';
import { visit, type Visit } from './visit.ts';

const chromium = chromiumOrReason();
const [RUNS, LINES] = [10_000, 1_000_000];
/** Of a screen and what lies just beyond it. */
const MOST_DRAWN = 120;

describe.skipIf(chromium.reason !== undefined)(`long lists [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit;
  let run: Record<string, unknown>;

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    writeOrders(shop.path('in.csv'));
    program = await shop.start({ args: ['--history', 'memory'] });
    const input = shop.path('in.csv');
    const id = await program.submit(orders({ name: 'one', input, folder: shop.dir }));
    run = { ...(await program.ended(id)) };
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  /** As a server with this history answers. */
  async function answerWithRuns(page: Page): Promise<void> {
    const idOf = (index: number): string => `run-${String(RUNS - index).padStart(6, '0')}`;
    await page.route('**/v1/runs?*', async (route) => {
      const query = new URL(route.request().url()).searchParams;
      const cursor = query.get('cursor');
      const from = cursor === null ? 0 : RUNS - Number(cursor.slice(4)) + 1;
      const to = Math.min(RUNS, from + Number(query.get('limit')));
      const runs = Array.from({ length: query.has('since') ? 0 : to - from }, (_, index) => ({
        ...run,
        run_id: idOf(from + index),
        name: `number ${from + index}`,
        submitted_at: new Date(1_800_000_000_000 - (from + index) * 1000).toISOString(),
      }));
      await route.fulfill({ json: { runs, next_cursor: to < RUNS ? idOf(to - 1) : null } });
    });
  }

  test('10,000 runs are read as the reader comes to them', async () => {
    seen = await visit(browser, program.url);
    const { page } = seen;
    await answerWithRuns(page);
    await seen.open('/runs');
    await page.getByRole('link', { name: 'number 0', exact: true }).waitFor();
    await expect
      .poll(
        async () => {
          await scroll(page, '.grid-body', 'element.scrollHeight');
          return page.getByRole('link', { name: `number ${RUNS - 1}` }).count();
        },
        { timeout: 90_000 },
      )
      .toBe(1);
    expect(await page.locator('[data-run]').count()).toBeLessThan(MOST_DRAWN);
    await page.getByText('10,000 runs').waitFor();
    await scroll(page, '.grid-body', '0');
    await page.getByRole('link', { name: 'number 0', exact: true }).waitFor();
    expect(await seen.problems()).toEqual([]);
  }, 180_000);

  test('a log of a million lines is searched, and scrolled to its end', async () => {
    seen = await visit(browser, program.url);
    const { page } = seen;
    await page.route('**/logs?format=jsonl*', async (route) => {
      const query = new URL(route.request().url()).searchParams;
      const from = Number(query.get('after') ?? -1) + 1;
      const lines = Array.from(
        { length: Math.min(LINES - from, Number(query.get('limit'))) },
        (_, index) => {
          const seq = from + index;
          const level = seq % 100_000 === 7 ? 'ERROR' : 'INFO';
          return `{"seq":${seq},"ts":"2026-01-01T00:00:00Z","level":"${level}","line":"${level} line ${seq} of a long log"}`;
        },
      );
      await route.fulfill({ contentType: 'application/x-ndjson', body: `${lines.join('\n')}\n` });
    });
    await seen.open(`/runs/${String(run['run_id'])}?tab=log`);
    await page.getByText('1,000,000 lines', { exact: true }).waitFor({ timeout: 150_000 });
    const lines = page.getByRole('listitem');
    expect(await lines.count()).toBeLessThan(MOST_DRAWN);
    await scroll(page, '.log', 'element.scrollHeight');
    await lines.filter({ hasText: `line ${LINES - 1} of` }).waitFor();
    await page.getByLabel('Level').selectOption('error');
    await page.getByText('10 of 1,000,000 lines').waitFor();
    await page.getByLabel('Level').selectOption('all');
    await page.getByRole('searchbox', { name: 'Search the log' }).fill('line 765432 of');
    await page.getByText('1 of 1,000,000 lines').waitFor();
    await lines.filter({ hasText: 'line 765432 of a long log' }).waitFor();
    expect(await seen.problems()).toEqual([]);
  }, 240_000);
});

async function scroll(page: Page, box: string, to: string): Promise<void> {
  await page.evaluate(
    `{ const element = document.querySelector('${box}'); element.scrollTop = ${to}; }`,
  );
}
