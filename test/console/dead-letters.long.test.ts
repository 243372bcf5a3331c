/** Dead letters in the console: by cause, one by one, mended and replayed. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { orders, writeOrders } from './documents.ts';
import { expectFlawless, expectToFit, visit, type Visit, type VisitOptions } from './visit.ts';

const chromium = chromiumOrReason();
const HOSTILE = '<img src=x onerror=alert(1)>';

describe.skipIf(chromium.reason !== undefined)(`dead letters [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit | undefined;

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    writeOrders(shop.path('in.csv'));
    program = await shop.start();
    const document = orders({ name: 'moved', input: shop.path('in.csv'), folder: shop.dir });
    await program.ended(await program.submit(document));
    const odd = {
      error: { kind: HOSTILE, message: `${HOSTILE} 7` },
      reason: 'partial',
      payload: { [HOSTILE]: HOSTILE },
    };
    const big = '{"reason":"partial","payload":{"id":12345678901234567890}}';
    writeFileSync(shop.path('odd.jsonl'), `${JSON.stringify(odd)}\n${big}\n`);
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  const open = async (file: string, options?: VisitOptions): Promise<Visit> => {
    seen = await visit(browser, program.url, options);
    await seen.open(`/data/deadLetters?location=${encodeURIComponent(shop.path(file))}`);
    await seen.page.getByRole('button', { name: 'Inspect' }).click();
    return seen;
  };

  test('are counted by cause, and one that was mended is replayed alone', async () => {
    const visited = await open('bad.jsonl');
    const { page } = visited;
    const causes = page.getByRole('region', { name: 'By cause' });
    await causes.getByRole('row', { name: /^3 quality/ }).waitFor();
    await causes.getByRole('button', { name: 'Show them' }).click();
    await page.getByText(/^Cause: /).waitFor();
    await page.getByRole('button', { name: 'Edit and replay' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'A dead letter' });
    const record = dialog.getByLabel('Record, as JSON');
    await record.fill('{ "id": 60, ');
    await dialog.getByText('This is no JSON').waitFor();
    expect(await record.getAttribute('aria-invalid')).toBe('true');
    await record.fill('{ "id": 60, "name": "mended", "amount": 5 }');
    const document = { ...orders({ name: 'moved', input: shop.path('in.csv'), folder: shop.dir }) };
    await dialog.getByLabel(/^Document/).fill(JSON.stringify(document));
    await dialog.getByRole('button', { name: 'Count only, write nothing' }).click();
    await dialog.getByText('Nothing was written.').waitFor();
    await expectFlawless(visited);
    await dialog.getByRole('button', { name: 'Replay this record' }).click();
    await dialog.getByText('the dead letter moved to the archive').waitFor();
    const written = readFileSync(shop.path('moved.jsonl'), 'utf8').trim().split('\n');
    expect(written).toHaveLength(197);
    expect(JSON.parse(written.at(-1) ?? '')).toEqual({ id: 60, name: 'mended', amount: 5 });
    await page.keyboard.press('Escape');
    await page.getByText('2 dead letters in 1 file').waitFor();
    expect(readFileSync(shop.path('bad.archived.jsonl'), 'utf8')).toContain('name 60');
  });

  test('say when a record fails again, and stay where they are', async () => {
    const { page } = await open('bad.jsonl');
    await page.getByRole('button', { name: 'Edit and replay' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'A dead letter' });
    const document = orders({ name: 'moved', input: shop.path('in.csv'), folder: shop.dir });
    await dialog.getByLabel(/^Document/).fill(JSON.stringify(document));
    await dialog.getByRole('button', { name: 'Replay this record' }).click();
    await dialog.getByText('The record was not written').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('2 dead letters in 1 file').waitFor();
  });

  test('of one cause are discarded together, and it is told before', async () => {
    const letter = (message: string, id: number): string =>
      `${JSON.stringify({ error: { kind: 'Quality', message }, reason: 'quality', payload: { id } })}\n`;
    const other = letter(`\`name\` is ${HOSTILE}`, 9);
    const file = shop.path('many.jsonl');
    writeFileSync(file, letter('`amount` is -1', 1) + letter('`amount` is -2', 2) + other);
    const visited = await open('many.jsonl');
    const { page } = visited;
    const discard = page
      .getByRole('row', { name: /^2 quality/ })
      .getByRole('button', { name: 'Discard them' });
    await discard.click();
    const dialog = page.getByRole('dialog', { name: 'Discard 2 dead letters?' });
    await dialog.getByText('Dead letters of other causes stay.').waitFor();
    await expectFlawless(visited);
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(4);
    // Whoever closes it changes nothing.
    await page.keyboard.press('Escape');
    await page.getByText('3 dead letters in 1 file').waitFor();
    await discard.click();
    await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
    await page.getByRole('dialog', { name: '2 dead letters were taken out' }).waitFor();
    await page.getByText(shop.path('many.archived.jsonl')).waitFor();
    await page.getByRole('button', { name: 'Close' }).last().click();
    await page.getByText('1 dead letter in 1 file').waitFor();
    expect(readFileSync(file, 'utf8')).toBe(other);
    expect(readFileSync(shop.path('many.archived.jsonl'), 'utf8')).toContain('{"id":2}');
    await page.getByRole('button', { name: 'Discard them' }).click();
    await page.getByRole('checkbox', { name: 'Delete them instead' }).check();
    await page.getByText('nobody can bring them back').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('They were deleted.').waitFor();
    expect(readFileSync(file, 'utf8')).toBe('');
    expect(await page.locator('img[src="x"], [onerror]').count()).toBe(0);
  });

  test.each([{ theme: 'light' }, { theme: 'dark', width: 360, height: 740 }] as const)(
    'are texts, and never what they look like: %o',
    async (look) => {
      const visited = await open('odd.jsonl', look);
      const { page } = visited;
      await page.getByRole('cell', { name: HOSTILE }).first().waitFor();
      await expectFlawless(visited);
      await expectToFit(visited);
      const letters = page.getByRole('region', { name: 'The first of them' });
      await letters.getByRole('button', { name: 'Edit and replay' }).last().click();
      await page.getByText('a number that a browser cannot hold exactly').waitFor();
      expect(await page.getByLabel('Record, as JSON').isEditable()).toBe(false);
      await page.keyboard.press('Escape');
      await letters.getByRole('button', { name: 'Edit and replay' }).first().click();
      await expect.poll(() => page.getByLabel('Record, as JSON').inputValue()).toContain(HOSTILE);
      await expectFlawless(visited);
      expect(await page.locator('img[src="x"], [onerror]').count()).toBe(0);
    },
  );
});
