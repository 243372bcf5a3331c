/**
 * Texts that would run in a careless page: names, labels, rows, errors, log lines, records, columns.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { visit, type Visit } from './visit.ts';

const chromium = chromiumOrReason();
const IMAGE = '<img src=x onerror=alert(1)>';
const SCRIPT = '"><script>alert(2)</script>';
const LINK = 'javascript:alert(3)';

describe.skipIf(chromium.reason !== undefined)(`hostile texts [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit;
  let ids: { readonly moved: string; readonly failed: string };

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    const folder = shop.path('<svg onload=alert(4)>');
    mkdirSync(folder);
    writeFileSync(
      `${folder}/in.csv`,
      `id,"<b onclick=alert(5)>column</b>",amount\n1,${IMAGE},1\n2,<a href=${LINK}>x</a>,-1\n`,
    );
    program = await shop.start({ args: ['--preview-local-outputs'] });
    const document = {
      version: 1,
      name: 'hostile',
      pipeline: {
        source: { type: 'csv', config: { path: `${folder}/in.csv` } },
        transforms: [{ type: 'cast', config: { fields: { amount: 'float' } } }],
        quality: {
          record: [
            { type: 'compare', field: 'amount', op: 'gte', value: 0, on_failure: 'quarantine' },
          ],
        },
        dlq: { sink: { type: 'jsonl', config: { path: `${folder}/bad.jsonl` } } },
        sink: { type: 'jsonl', config: { path: `${folder}/out.jsonl` } },
      },
    };
    const moved = await program.submit(document, {
      name: `${IMAGE} name`,
      labels: { team: SCRIPT, link: LINK },
    });
    const failed = await program.submit(
      {
        version: 1,
        name: 'failing',
        pipeline: {
          source: { type: 'csv', config: { path: `${shop.dir}/${IMAGE}.csv` } },
          sink: { type: 'jsonl', config: { path: `${folder}/never.jsonl` } },
        },
      },
      { name: SCRIPT },
    );
    await Promise.all([program.ended(moved), program.ended(failed)]);
    ids = { moved, failed };
  });
  // What is waited for must not stand in the view before.
  beforeEach(async () => {
    seen = await visit(browser, program.url);
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  test.each([
    ['the list of runs', () => '/runs', `${IMAGE} name`],
    ['a run', () => `/runs/${ids.moved}`, 'The balance closes'],
    ['an error', () => `/runs/${ids.failed}`, `${IMAGE}.csv`],
    ['a log', () => `/runs/${ids.failed}?tab=log`, `${IMAGE}.csv`],
    ['a plan', () => `/runs/${ids.moved}?tab=plan`, '<svg onload=alert(4)>'],
    ['outputs', () => `/runs/${ids.moved}?tab=outputs`, '<svg onload=alert(4)>'],
    ['labels', () => `/runs/${ids.moved}?tab=details`, SCRIPT],
    ['data sets', () => '/data', 'out.jsonl'],
    ['lineage', () => '/data/lineage', 'out.jsonl'],
    ['an address', () => `/runs?name=${encodeURIComponent(IMAGE)}`, 'No run matches'],
    ['a page that is none', () => `/${encodeURIComponent(SCRIPT)}`, 'There is no such page'],
  ])('are texts in %s', async (_place, address, text) => {
    await seen.open(address());
    await seen.page.getByText(text).first().waitFor();
    await expectNothingRan();
  });

  test('are texts in a preview of records, and in dead letters', async () => {
    const { page } = seen;
    await seen.open(`/runs/${ids.moved}?tab=outputs`);
    await page
      .getByRole('row', { name: /out\.jsonl/ })
      .getByRole('button')
      .click();
    await page.getByRole('cell', { name: IMAGE }).waitFor();
    await page.getByRole('columnheader', { name: '<b onclick=alert(5)>column</b>' }).waitFor();
    await expectNothingRan();
    await seen.open('/data/deadLetters');
    await page
      .getByLabel('File, folder or glob on the server')
      .fill(shop.path('<svg onload=alert(4)>/bad.jsonl'));
    await page.getByRole('button', { name: 'Inspect' }).click();
    await page.getByText(`<a href=${LINK}>x</a>`).waitFor();
    await expectNothingRan();
  });

  /** No dialog, no element that only such a text can have brought, nothing forbidden was tried. */
  async function expectNothingRan(): Promise<void> {
    expect(await seen.page.locator('img[src="x"], [onerror], [onclick], [onload]').count()).toBe(0);
    expect(await seen.page.locator('a[href^="javascript:"], #app script').count()).toBe(0);
    expect(await seen.problems()).toEqual([]);
  }
});
