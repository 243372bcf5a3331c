/**
 * What a new user does, by the keyboard alone: nothing here points or clicks, and no element is
 * given the focus by the test.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { orders, threeRows, writeOrders } from './documents.ts';
import { visit, type Visit } from './visit.ts';

const chromium = chromiumOrReason();
/** Whoever has to press Tab more often gives up. */
const MOST_TABS = 25;

describe.skipIf(chromium.reason !== undefined)(`the keyboard [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit;
  let page: Page;

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    const input = shop.path('in.csv');
    writeOrders(input);
    writeFileSync(shop.path('empty.db'), '');
    program = await shop.start();
    const [moved, three] = await Promise.all([
      program.submit(orders({ name: 'moved', input, folder: shop.dir })),
      program.submit(threeRows({ name: 'three', input, folder: shop.dir })),
    ]);
    await Promise.all([program.ended(moved), program.ended(three)]);
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  const begin = async (view = '/runs'): Promise<void> => {
    seen = await visit(browser, program.url, { expects: [400, 422] });
    ({ page } = seen);
    await seen.open(view);
  };
  const press = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const type = (text: string): Promise<void> => page.keyboard.type(text);
  /** Goes on with Tab until this has the focus. */
  const tabTo = async (wanted: Locator, key = 'Tab'): Promise<void> => {
    await wanted.first().waitFor();
    for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
      await press(key);
      if ((await wanted.and(page.locator(':focus')).count()) > 0) return;
    }
    throw new Error(`${MOST_TABS} times ${key} did not lead to ${wanted}`);
  };
  const button = (name: string | RegExp): Locator =>
    page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });
  const writeDocument = async (text: string): Promise<void> => {
    await tabTo(page.getByRole('textbox', { name: 'Document, YAML or JSON' }));
    await press('Control+a', 'Delete');
    // What is typed would be indented and completed.
    await page.keyboard.insertText(text);
    await page.getByText('No problem found').waitFor();
  };
  const leaveEditor = (): Promise<void> => press('Escape', 'Tab');

  test('finds a failed run, reads its error, and runs it again', async () => {
    await begin();
    await tabTo(button('Failed'));
    await press('Enter');
    await page.locator('[data-run]', { hasText: 'three' }).waitFor();
    // The rows of the whole list stand there until those of the filter have come.
    await expect.poll(() => page.locator('[data-run]').count()).toBe(1);
    await press('j', 'Enter');
    await page
      .getByText(/gone\.csv/)
      .first()
      .waitFor();
    await page.getByRole('heading', { name: 'three' }).waitFor();
    await tabTo(button('Run again'));
    await press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await tabTo(dialog.getByRole('button', { name: 'Run again' }));
    const before = page.url();
    await press('Enter');
    await expect.poll(() => page.url()).not.toBe(before);
    // The run before stands there until the new one has come.
    const again = page.url().split('/').at(-1) ?? '';
    await page.locator('.summary', { hasText: again }).waitFor();
    await page
      .getByText(/gone\.csv/)
      .first()
      .waitFor();
    // Back to the list, where there are two now.
    await tabTo(page.getByRole('main').getByRole('link', { name: 'Runs' }));
    await press('Enter');
    await page.locator('[data-run]', { hasText: 'three' }).nth(1).waitFor();
  });

  test('cancels a run', async () => {
    const query = 'with recursive c(i) as (select 1 union all select i + 1 from c) select i from c';
    const id = await program.submit({
      version: 1,
      name: 'endless',
      pipeline: {
        source: { type: 'sqlite', config: { database_url: shop.path('empty.db'), query } },
        sink: { type: 'jsonl', config: { path: shop.path('endless.jsonl') } },
      },
    });
    await begin();
    await page.locator(`[data-run="${id}"]`, { hasText: 'Running' }).waitFor();
    await press('j', 'x', 'c');
    const dialog = page.getByRole('dialog', { name: 'Cancel 1 run?' });
    await tabTo(dialog.getByRole('button', { name: 'Cancel them' }));
    await press('Enter');
    await page.locator(`[data-run="${id}"]`, { hasText: 'Cancelled' }).waitFor();
  });

  test('writes a document with completion, and submits it', async () => {
    await begin();
    await press('g', 'a');
    await tabTo(page.getByRole('textbox', { name: 'Document, YAML or JSON' }));
    await press('Control+a', 'Delete');
    // One that still asks what it offers takes no key.
    const offers = page
      .locator('.cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled)')
      .getByRole('listbox');
    const take = async (text: string, offered: string): Promise<void> => {
      await type(text);
      const offer = offers.getByRole('option', { selected: true }).filter({ hasText: offered });
      await offer.waitFor();
      // A key that comes at once is not meant for the list.
      await page.waitForTimeout(150);
      await press('Enter');
      await offers.waitFor({ state: 'detached' });
    };
    await type('version: 1\nname: typed\n');
    await take('pipel', 'pipeline');
    await take('sour', 'source');
    await take('type: cs', 'csv');
    await type('\n');
    await take('conf', 'config');
    await type(`path: ${shop.path('in.csv')}\n`);
    await press('Shift+Tab', 'Shift+Tab');
    await take('sin', 'sink');
    await take('type: json', 'jsonl');
    await type('\n');
    await take('conf', 'config');
    await type(`path: ${shop.path('typed.jsonl')}`);
    await press('Escape');
    await page.getByText('No problem found').waitFor();
    await press('Control+Enter');
    const dialog = page.getByRole('dialog', { name: 'Submit this document?' });
    await tabTo(dialog.getByRole('button', { name: 'Submit the run' }));
    await press('Enter');
    await page.getByText('The balance closes').waitFor();
    expect(existsSync(shop.path('typed.jsonl'))).toBe(true);
  });

  test('keeps a document as a template', async () => {
    await begin('/author');
    const input = shop.path('in.csv');
    await writeDocument(JSON.stringify(orders({ name: 'moved', input, folder: shop.dir })));
    await leaveEditor();
    await tabTo(button('Save as template'), 'Shift+Tab');
    await press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Save as a template' });
    await tabTo(dialog.getByLabel('Id of the template'));
    await type('typed-orders');
    await press('Enter');
    await page.getByText('Saved as version 1 of typed-orders.').waitFor();
    await dialog.waitFor({ state: 'detached' });
    await press('g', 'o');
    await tabTo(page.getByRole('link', { name: 'Templates' }));
    await press('Enter');
    await tabTo(page.getByRole('link', { name: 'typed-orders' }));
    await press('Enter');
    await page.getByRole('button', { name: 'Launch version 1' }).waitFor();
  });

  test('finds dead letters, mends one and replays it', async () => {
    await begin('/author');
    const input = shop.path('in.csv');
    await writeDocument(JSON.stringify(orders({ name: 'moved', input, folder: shop.dir })));
    await leaveEditor();
    await press('g', 'd');
    await tabTo(page.getByRole('link', { name: 'Dead letters' }));
    await press('Enter');
    await tabTo(page.getByLabel('File, folder or glob on the server'));
    await type(shop.path('bad.jsonl'));
    await press('Enter');
    await page.getByText(/3 dead letters in 1 file/).waitFor();
    await tabTo(button('Edit and replay'));
    await press('Enter');
    const dialog = page.getByRole('dialog', { name: 'A dead letter' });
    await tabTo(dialog.getByLabel('Record, as JSON'));
    await press('Control+a');
    await type('{"id": 60, "name": "mended", "amount": 5}');
    await tabTo(dialog.getByRole('button', { name: 'Replay this record' }));
    await press('Enter');
    await dialog.getByText('the dead letter moved to the archive').waitFor();
    await press('Escape');
    await page.getByText(/2 dead letters in 1 file/).waitFor();
    expect(readFileSync(shop.path('moved.jsonl'), 'utf8')).toContain('mended');
  });

  test('finds where a data set comes from and goes to', async () => {
    await begin();
    await press('g', 'd');
    await page.getByRole('link', { name: /moved\.jsonl/ }).waitFor();
    await tabTo(page.getByRole('link', { name: /moved\.jsonl/ }));
    await press('Enter');
    await page.getByText('Comes from').waitFor();
    await tabTo(page.getByRole('link', { name: /in\.csv/ }));
    await press('Enter');
    await page.getByText('Goes to').waitFor();
    await tabTo(page.getByRole('link', { name: /moved\.jsonl/ }));
  });
});
