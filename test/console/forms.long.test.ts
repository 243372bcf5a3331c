/** Parts of a document as forms, with a real server that knows their schemas and checks them. */
import { DatabaseSync } from 'node:sqlite';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { writeOrders } from './documents.ts';
import { expectFlawless, expectToFit, visit, type Visit, type VisitOptions } from './visit.ts';

const chromium = chromiumOrReason();

describe.skipIf(chromium.reason !== undefined)(`forms [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit | undefined;

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    writeOrders(shop.path('in.csv'));
    const database = new DatabaseSync(shop.path('shop.db'));
    database.exec('CREATE TABLE orders (id INTEGER, note TEXT); CREATE TABLE "a<b>c" (id INTEGER)');
    database.close();
    program = await shop.start();
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  const open = async (side: string, options: VisitOptions = {}): Promise<Page> => {
    seen = await visit(browser, program.url, { expects: [400, 422], ...options });
    await seen.open(`/author?side=${side}`);
    await editorOf(seen.page).waitFor();
    return seen.page;
  };
  const editorOf = (page: Page): Locator =>
    page.getByRole('textbox', { name: 'Document, YAML or JSON' });
  const textOf = async (page: Page): Promise<string> => {
    const lines = await page.locator('.cm-line').allInnerTexts();
    return lines.map((line) => line.replace(/\n$/, '')).join('\n');
  };

  test('write a document that runs, from nothing', async () => {
    const page = await open('form');
    await page.getByLabel('Kind of source').selectOption('csv');
    await page.getByText('`path` is required').first().waitFor();
    await page.getByLabel('path', { exact: false }).first().fill(shop.path('in.csv'));
    await page.getByLabel('Part of the document').selectOption('pipeline.sink');
    await page.getByLabel('Kind of sink').selectOption('jsonl');
    await page.getByLabel('path', { exact: false }).first().fill(shop.path('out.jsonl'));
    await page.getByText('No problem found').waitFor();
    await expect
      .poll(() => textOf(page))
      .toBe(
        `version: 1\npipeline:\n  source:\n    type: csv\n    config:\n      path: ${shop.path('in.csv')}\n  sink:\n    type: jsonl\n    config:\n      path: ${shop.path('out.jsonl')}\n`,
      );
    if (seen !== undefined) await expectFlawless(seen);
  });

  test('add, move, set and remove transforms by the keyboard, in step with the text', async () => {
    const page = await open('form');
    await editorOf(page).fill(`version: 1
pipeline:
  source: { type: csv, config: { path: ${shop.path('in.csv')} } }
  transforms:
    # numbers
    - type: cast # at once
      config: { fields: { id: int } }
  sink: { type: jsonl, config: { path: ${shop.path('never.jsonl')} } }
`);
    await page.getByText('No problem found').waitFor();
    await page.getByLabel('Part of the document').selectOption('pipeline.transforms');
    const item = (name: RegExp) => page.getByRole('button', { name, expanded: false });
    const kind = page.getByLabel('Kind of transform');
    await kind.selectOption('filter');
    await kind.press('Tab');
    await page.keyboard.press('Enter');
    // What was added is open, and has the focus.
    const added = page.getByRole('button', { name: /^2 filter/, expanded: true });
    await added.and(page.locator(':focus')).waitFor();
    await page.getByText('`path` is required').first().waitFor();
    await page.getByLabel('path required').fill('$.name');
    await page.getByLabel('op required').selectOption('ne');
    await page.getByLabel('value', { exact: true }).fill('name 2');
    await page.getByText('No problem found').waitFor();
    await expect
      .poll(() => textOf(page))
      .toContain(
        '    # numbers\n    - type: cast # at once\n      config: { fields: { id: int } }\n    - type: filter\n      config:',
      );
    if (seen !== undefined) await expectFlawless(seen);
    await added.focus();
    await page.keyboard.press('Alt+ArrowUp');
    await page.getByRole('button', { name: /^1 filter/, expanded: true }).waitFor();
    await item(/^2 cast/).waitFor();
    await expect
      .poll(() => textOf(page))
      .toMatch(
        /transforms:\n {4}- type: filter\n[^]*\n {4}# numbers\n {4}- type: cast # at once\n/,
      );
    // The focus has gone with it, to what can be pressed.
    await page.locator('[data-control="summary"]:focus').waitFor();
    await page.getByRole('button', { name: 'Move 2, cast up' }).press('Enter');
    await page.getByRole('button', { name: 'Remove 1, cast' }).press('Enter');
    await page.getByRole('button', { name: /^1 filter/ }).waitFor();
    await expect.poll(() => textOf(page)).not.toContain('numbers');
    await page.getByText('No problem found').waitFor();
    await page.getByRole('button', { name: 'Remove 1, filter' }).press('Enter');
    await page.getByText('No transform yet').waitFor();
    await expect.poll(() => textOf(page)).toContain('  transforms: []\n');
    // The editor takes back what a form did.
    await editorOf(page).press('Control+z');
    await item(/^1 filter/).waitFor();
  });

  test('fill maps name by name, in step with the text', async () => {
    const page = await open('form');
    await editorOf(page).fill(`version: 1
pipeline:
  source: { type: csv, config: { path: ${shop.path('in.csv')} } }
  transforms:
    - type: cast
      config:
        fields:
          id: int # a number
    - type: rename_field
  sink: { type: jsonl, config: { path: ${shop.path('never.jsonl')} } }
`);
    await page.getByLabel('Part of the document').selectOption('pipeline.transforms');
    await page.getByRole('button', { name: /^1 cast/ }).click();
    const name = page.getByLabel('Name to add to fields');
    await name.fill('on "day".one');
    await name.press('Enter');
    // The next key goes to the value of what was added.
    await page.getByLabel('on "day".one', { exact: true }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('f');
    await expect
      .poll(() => textOf(page))
      .toContain('          id: int # a number\n          on "day".one: float');
    if (seen !== undefined) await expectFlawless(seen);
    await page.getByRole('button', { name: 'Remove on "day".one' }).click();
    await page.getByLabel('on "day".one', { exact: true }).waitFor({ state: 'detached' });
    await expect
      .poll(() => textOf(page))
      .toContain('          id: int # a number\n    - type: rename_field');
    await page.getByRole('button', { name: /^1 cast/ }).click();
    await page.getByRole('button', { name: /^2 rename_field/ }).click();
    await name.fill('id');
    await name.press('Enter');
    // A name without a value stays, and says that it needs one.
    const renamed = page.getByLabel('id', { exact: true });
    await renamed.fill('x');
    await renamed.fill('');
    await expect.poll(() => textOf(page)).toContain('id: ""');
    await renamed.fill('order_id');
    await page.getByText('No problem found').waitFor();
    await expect.poll(() => textOf(page)).toContain('fields:\n          id: order_id');
  });

  test('of transforms fit a narrow screen, and say what is wrong with one', async () => {
    const page = await open('form', { theme: 'dark', width: 360, height: 740 });
    await editorOf(page).fill(`version: 1
pipeline:
  source: { type: csv, config: { path: ${shop.path('in.csv')} } }
  transforms: [{ type: cast, config: { fields: { id: integer } } }, { type: "<img src=x onerror=alert(1)>" }]
  sink: { type: jsonl, config: { path: b.jsonl } }
`);
    await page.getByLabel('Part of the document').selectOption('pipeline.transforms');
    await page.getByRole('button', { name: /^1 cast has a problem/ }).click();
    await page.getByRole('button', { name: /^2 <img src=x/ }).waitFor();
    if (seen !== undefined) await expectFlawless(seen);
    if (seen !== undefined) await expectToFit(seen);
    await page.getByRole('button', { name: /^Remove 2/ }).click();
    await page.getByRole('button', { name: /^2 / }).waitFor({ state: 'detached' });
    await expect
      .poll(() => textOf(page))
      .toContain('transforms: [{ type: cast, config: { fields: { id: integer } } }]');
  });

  const WRITTEN = `# moves orders
version: 1
pipeline:
  source:
    type: postgres # the shop
    config:
      # nobody else may read it
      connection_url: postgres://me:word@db/shop
      query: "SELECT 1" # all
      batch_size: 10
      replication: { type: full }
  sink: { type: jsonl, config: { path: b.jsonl } }
`;

  test('read the document, change single places, and lose no comment', async () => {
    const page = await open('form');
    await editorOf(page).fill(WRITTEN);
    const size = page.getByLabel('batch_size');
    await expect.poll(() => size.inputValue()).toBe('10');
    await size.fill('many');
    const setting = page.locator('.setting', { has: size });
    await setting.getByText('expected a number, got "many"').waitFor();
    expect(await size.getAttribute('aria-invalid')).toBe('true');
    if (seen !== undefined) await expectFlawless(seen);
    await size.fill('20');
    await setting.getByText('expected a number').waitFor({ state: 'detached' });
    await page.getByText('This secret stands in the document as it is').waitFor();
    await page.getByRole('button', { name: 'Use ${env:POSTGRES_CONNECTION_URL}' }).click();
    await page.getByLabel('Form of replication').selectOption('incremental');
    await page.getByLabel('column').fill('changed_at');
    await expect
      .poll(() => textOf(page))
      .toBe(
        WRITTEN.replace('postgres://me:word@db/shop', '${env:POSTGRES_CONNECTION_URL}')
          .replace('batch_size: 10', 'batch_size: 20')
          .replace('{ type: full }', '{ type: incremental, column: changed_at }'),
      );
    // What is written by hand stands in the form at once.
    await editorOf(page).fill(WRITTEN.replace('batch_size: 10', 'batch_size: 77'));
    await expect.poll(() => size.inputValue()).toBe('77');
    // Another kind takes nothing away unasked.
    await page.getByLabel('Kind of source').selectOption('sqlite');
    await page.getByRole('button', { name: 'Remove connection_url' }).click();
    await page.getByLabel('database_url').fill('shop.db');
    await expect.poll(() => textOf(page)).toContain('# nobody else may read it');
    await expect.poll(() => textOf(page)).not.toContain('postgres://');
  });

  test('show hostile values as texts, and refuse what is no YAML', async () => {
    const page = await open('form');
    await editorOf(page).fill(
      'version: 1\npipeline:\n  source: { type: csv, config: { path: "<img src=x onerror=alert(1)>", "<b onclick=alert(2)>": 1 } }\n  sink: { type: jsonl, config: { path: b } }\n',
    );
    await expect
      .poll(() => page.getByLabel('path').first().inputValue())
      .toBe('<img src=x onerror=alert(1)>');
    await page.getByRole('button', { name: 'Remove <b onclick=alert(2)>' }).waitFor();
    await page.getByLabel('columns').fill('{ a: [');
    await page.getByText('This is no YAML').waitFor();
    await expect.poll(() => textOf(page)).not.toContain('columns');
    expect(await page.locator('img[src="x"], [onclick]').count()).toBe(0);
    if (seen !== undefined) await expectFlawless(seen);
  });

  test('list the tables of a source, and insert rows for those that are chosen', async () => {
    const page = await open('tables');
    const written = `version: 1 # shop\npipeline:\n  source:\n    type: sqlite\n    config: { database_url: ${shop.path('shop.db')} }\n  sink: { type: jsonl, config: { path: ${shop.path('all.jsonl')} } }\n# rows\nmatrix:\n  - id: orders # by hand\n    source: { config: { query: SELECT 1 AS a } }\n`;
    await editorOf(page).fill(written);
    await page.getByRole('button', { name: 'List them' }).click();
    await page.getByText('2 in sqlite').waitFor();
    await page.getByRole('row', { name: /a<b>c/ }).waitFor();
    await page.getByLabel('Part of the name').fill('ORD');
    await page.getByText('1 of 2 in sqlite').waitFor();
    await page.getByLabel('Part of the name').fill('');
    await page.getByRole('button', { name: 'Choose all 2' }).click();
    if (seen !== undefined) await expectFlawless(seen);
    await page.getByRole('button', { name: 'Insert 2 rows' }).click();
    await page.getByText('2 rows were added to the matrix.').waitFor();
    await page.getByText('No problem found').waitFor();
    const text = await textOf(page);
    expect(text.startsWith(written.trimEnd())).toBe(true);
    expect(text).toMatch(/- id: a_b_c\n[^]*- id: orders_2\n/);
  });

  test('say why a source lists nothing', async () => {
    const page = await open('tables');
    await editorOf(page).fill(
      `version: 1\npipeline:\n  source: { type: csv, config: { path: ${shop.path('in.csv')} } }\n`,
    );
    await page.getByRole('button', { name: 'List them' }).click();
    await page.getByRole('alert').filter({ hasText: 'lists no data sets' }).waitFor();
  });

  test.each([
    { theme: 'dark', width: 360, height: 740 },
    { theme: 'light', width: 360, height: 740 },
    { theme: 'dark' },
  ] as const)('can be used by everybody: %o', async (look) => {
    const page = await open('form', look);
    await editorOf(page).fill(WRITTEN.replace('batch_size: 10', 'batch_size: many'));
    await page.getByText('expected a number, got "many"').first().waitFor();
    if (seen === undefined) return;
    await expectFlawless(seen);
    await expectToFit(seen);
  });
});
