/** Writing documents in the console, with a real server that checks and runs them. */
import { existsSync } from 'node:fs';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { writeOrders } from './documents.ts';
import { expectFlawless, expectToFit, visit, type Visit, type VisitOptions } from './visit.ts';

const chromium = chromiumOrReason();
const HOSTILE = '<img src=x onerror=alert(1)>';

describe.skipIf(chromium.reason !== undefined)(`the editor [${chromium.reason ?? ''}]`, () => {
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
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  const open = async (options: VisitOptions = {}): Promise<Page> => {
    seen = await visit(browser, program.url, { expects: [400, 422], ...options });
    await seen.open('/author');
    await editorOf(seen.page).waitFor();
    return seen.page;
  };
  const editorOf = (page: Page): Locator =>
    page.getByRole('textbox', { name: 'Document, YAML or JSON' });

  test('marks problems at their lines, and leads to them', async () => {
    const page = await open();
    await editorOf(page).fill(
      'version: 1\npipeline:\n  source:\n    type: cvs\n  sink: { type: jsonl, config: { path: b } }\n',
    );
    const place = page.getByRole('button', { name: /^line 4/ });
    await place.first().waitFor();
    expect(await page.locator('.issues').innerText()).toContain('csv');
    await page.locator('.cm-lintRange-error').first().waitFor();
    await place.first().click();
    await page.locator('.cm-activeLine', { hasText: 'type: cvs' }).waitFor();
    expect(await page.getByRole('button', { name: 'Submit' }).isDisabled()).toBe(true);
    if (seen !== undefined) await expectFlawless(seen);
  });

  test('completes what our schemas know', async () => {
    const page = await open();
    const editor = editorOf(page);
    await editor.pressSequentially('version: 1\npipe');
    const offers = page.getByRole('listbox');
    // A key that comes within 75 ms of the list is not meant for it; a click is.
    await offers.getByText('pipeline').click();
    await editor.pressSequentially('sour');
    await offers.getByText('source', { exact: true }).click();
    await editor.pressSequentially('type: postg');
    await offers.getByText('postgres', { exact: true }).click();
    await expect
      .poll(async () => (await editor.innerText()).replaceAll(/\n+/g, '\n'))
      .toMatch(/pipeline:\n {2}source:\n {4}type: postgres/);
  });

  test.each(['light', 'dark'] as const)(
    'plans a document while it is written, and submits it, in %s',
    async (theme) => {
      const page = await open({ theme });
      const output = shop.path(`out-${theme}.jsonl`);
      await editorOf(page).fill(
        `version: 1\nname: written\npipeline:\n  source: { type: csv, config: { path: ${shop.path('in.csv')} } }\n  sink: { type: jsonl, config: { path: ${output} } }\n`,
      );
      await page.getByText('No problem found').waitFor();
      expect(await page.locator('.lane').innerText()).toMatch(/csv[^]*jsonl/);
      if (seen !== undefined) await expectFlawless(seen);
      await page.keyboard.press('Control+Enter');
      const dialog = page.getByRole('dialog', { name: 'Submit this document?' });
      await dialog.getByText('A run is queued that executes 1 row').waitFor();
      expect(existsSync(output)).toBe(false);
      await dialog.getByRole('button', { name: 'Submit the run' }).click();
      await page.getByText('The balance closes').waitFor();
      expect(existsSync(output)).toBe(true);
    },
  );

  test('shows what each stage makes of the first records, while the text changes', async () => {
    const page = await open();
    await page.goto(`${program.url}/#/author?side=preview`);
    const document = (kept: string): string =>
      `version: 1\npipeline:\n  source: { type: csv, config: { path: ${shop.path('in.csv')} } }\n  transforms:\n    - { type: cast, config: { fields: { id: int } } }\n    - { type: filter, config: { path: $.name, op: ${kept}, value: name 2 } }\n  sink: { type: jsonl, config: { path: ${shop.path('never.jsonl')} } }\n`;
    await editorOf(page).fill(document('ne'));
    const cast = page.getByRole('region', { name: 'transform cast', exact: true });
    // A text becomes a number.
    await cast.locator('td.changed', { hasText: '"1"1' }).waitFor();
    const filter = page.getByRole('region', { name: 'transform filter', exact: true });
    expect(await filter.locator('tr.gone').innerText()).toContain('name 2');
    await page.getByText('5 records would go to jsonl.').waitFor();
    if (seen !== undefined) await expectFlawless(seen);
    await editorOf(page).fill(document('eq'));
    await page.getByText('1 record would go to jsonl.').waitFor();
    expect(await filter.locator('tr.gone').count()).toBe(5);
    expect(existsSync(shop.path('never.jsonl'))).toBe(false);
    await editorOf(page).fill(document('eq').replace(shop.path('in.csv'), '/absent.csv'));
    await page.getByRole('alert').filter({ hasText: 'absent.csv' }).waitFor();
  });

  test.each([{}, { theme: 'dark', width: 360, height: 740 }] as const)(
    'shows what each node of a graph makes of the first records: %o',
    async (look) => {
      const page = await open(look);
      await page.goto(`${program.url}/#/author?side=preview`);
      await editorOf(page).fill(`version: 1
pipeline:
  sources: { in: { type: csv, config: { path: ${shop.path('in.csv')} } } }
  nodes:
    people: { kind: source, ref: in }
    again: { kind: source, ref: in }
    typed: { kind: transform, transforms: [{ type: cast, config: { fields: { id: int } } }] }
    pairs: { kind: join, build: { edge: left, key: name }, probe: { edge: right, key: name }, project: [{ from: id, as: ${JSON.stringify(HOSTILE)} }] }
    out: { kind: sink, type: jsonl, config: { path: ${shop.path('never.jsonl')} } }
  edges:
    - { from: people, to: pairs, as: left }
    - { from: again, to: typed }
    - { from: typed, to: pairs, as: right }
    - { from: pairs, to: out }
`);
      const node = (name: string) => page.getByRole('region', { name, exact: true });
      await node('typed').locator('td.changed', { hasText: '"1"1' }).waitFor();
      await node('pairs').getByText('6 of people (left), 6 of typed (right)').waitFor();
      await node('pairs').getByRole('columnheader', { name: HOSTILE }).waitFor();
      await node('out').getByText('6 records would go to jsonl.').waitFor();
      if (seen !== undefined) await expectFlawless(seen);
      if (seen !== undefined) await expectToFit(seen);
      await page.getByRole('combobox', { name: 'Node' }).selectOption('typed');
      await node('pairs').waitFor({ state: 'detached' });
      expect(await page.locator('.stage.node').count()).toBe(2);
      expect(existsSync(shop.path('never.jsonl'))).toBe(false);
    },
  );

  test('keeps a document as a template', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Start with an example' }).click();
    await page.getByText('No problem found').waitFor();
    await page.getByRole('button', { name: 'Save as template' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save as a template' });
    await dialog.getByLabel('Id of the template').fill('shop-orders');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved as version 1 of shop-orders.').waitFor();
    await page.goto(`${program.url}/#/operate/templates`);
    await page.getByRole('cell', { name: 'shop-orders' }).waitFor();
  });

  test('shows what changed between two versions of a template, and launches one', async () => {
    const register = async (amount: string): Promise<void> => {
      const config = `version: 1\nname: compared\npipeline:\n  source: { type: csv, config: { path: a.csv } }\n  transforms:\n    - { type: filter, config: { path: $.amount, op: ne, value: ${amount} } }\n  sink: { type: jsonl, config: { path: b.jsonl } }\n`;
      const { status } = await program.call('POST', '/v1/templates', { id: 'compared', config });
      expect(status).toBeLessThan(300);
    };
    await register('11');
    expect((await program.call('POST', '/v1/templates/compared/launch', {})).status).toBe(200);
    await register('22');
    seen = await visit(browser, program.url);
    const { page } = seen;
    await seen.open('/operate/templates/compared');
    await page.locator('.cm-deletedChunk', { hasText: 'value: 11' }).waitFor();
    expect(await page.locator('.cm-changedLine').innerText()).toContain('value: 22');
    await expectFlawless(seen);
    await page.getByRole('button', { name: 'Launch version 2' }).click();
    const dialog = page.getByRole('dialog', { name: 'Launch version 2?' });
    await dialog.getByText('Runs in progress keep theirs.').waitFor();
    await dialog.getByRole('button', { name: 'Launch it' }).click();
    await page.getByText('Version 2 of compared is launched.').waitFor();
    await page.getByRole('button', { name: 'Back to version 1' }).waitFor();
  });

  test('shows hundreds of problems', async () => {
    const page = await open();
    const rows = Array.from({ length: 200 }, (_, index) => `  - { id: row-${index}, sauce: 1 }`);
    await editorOf(page).fill(
      `version: 1\npipeline:\n  source: { type: csv, config: { path: a } }\n  sink: { type: jsonl, config: { path: b } }\nmatrix:\n${rows.join('\n')}\n`,
    );
    await page.getByText(/\b[12]\d\d problems$/).waitFor();
    expect(await page.locator('.issues li').count()).toBeGreaterThanOrEqual(100);
    await editorOf(page).press('Control+End');
    await editorOf(page).pressSequentially('# go on');
    await expect.poll(() => editorOf(page).innerText()).toContain('# go on');
  });
});
