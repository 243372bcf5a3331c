/**
 * Makes the pictures of the console in docs/console: starts a server with runs of a small shop and
 * takes screenshots in a headless Chromium. `npm run pictures`, after `npm run build`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { startService, statusOf, submit } from '../bench/service.ts';
import { chromiumOrReason } from '../test/servers/chromium.ts';

const ROOT = join(import.meta.dirname, '..');
const PICTURES = join(ROOT, 'docs/console');
const COUNTRIES = ['DE', 'FR', 'XX', 'JP'];
const ORDERS = 5000;

const DOCUMENT = `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  transforms:
    - { type: cast, config: { fields: { order_id: int, amount: float } } }
    - { type: filter, config: { path: $.order_id, op: ne, value: 1002 } }
    - { type: rename_field, config: { fields: { email: contact } } }
  quality:
    record:
      - { type: compare, field: amount, op: gte, value: 0, on_failure: quarantine }
  dlq: { sink: { type: jsonl, config: { path: out/bad.jsonl } } }
  sink: { type: jsonl, config: { path: out/orders.jsonl } }
`;
const BROKEN = `version: 1
name: stock
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  sink: { type: jsonl, config: { path: out/stock.jsonl } }
matrix:
  - { id: north, sink: { type: jsonl, config: { path: out/north.jsonl } } }
  - { id: south, source: { type: csv, config: { path: south.csv } }, sink: { type: jsonl, config: { path: out/south.jsonl } } }
`;
const GRAPH = `version: 1
name: enrich
pipeline:
  nodes:
    people: { kind: source, type: csv, config: { path: people.csv } }
    orders: { kind: source, type: csv, config: { path: orders.csv } }
    copies: { kind: tee }
    typed: { kind: transform, transforms: [{ type: filter, config: { path: $.country, op: ne, value: XX } }] }
    named: { kind: join, build: { edge: p, key: id }, probe: { edge: o, key: order_id }, project: [{ from: tier, as: tier }] }
    out: { kind: sink, type: jsonl, config: { path: out/named.jsonl } }
    raw: { kind: sink, type: jsonl, config: { path: out/raw.jsonl } }
  edges:
    - { from: people, to: named, as: p }
    - { from: orders, to: copies }
    - { from: copies, to: raw }
    - { from: copies, to: typed }
    - { from: typed, to: named, as: o }
    - { from: named, to: out }
`;
const byCountry = (country: string): string => `version: 1
name: report-${country.toLowerCase()}
pipeline:
  source: { type: jsonl, config: { path: out/orders.jsonl } }
  transforms:
    - { type: filter, config: { path: $.country, op: eq, value: ${country} } }
  sink: { type: csv, config: { path: out/report-${country.toLowerCase()}.csv } }
`;

interface Look {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
}

/** The picture of a view that is there as soon as the text is. */
interface Picture extends Look {
  readonly name: string;
  readonly view: string;
  readonly shows: string;
  /** Written into the editor. */
  readonly text?: string;
  /** A button that is pressed first. */
  readonly press?: string;
  readonly isWhole?: boolean;
}

function writeShop(folder: string): void {
  mkdirSync(join(folder, 'out'));
  const lines = Array.from({ length: ORDERS }, (_, index) => {
    const amount = index % 97 === 0 ? -1.5 : 12 * index + 0.5;
    return `${1000 + index},Customer ${index},c${index}@example.com,${COUNTRIES[index % 4] ?? ''},${amount}`;
  });
  writeFileSync(
    join(folder, 'orders.csv'),
    `order_id,customer,email,country,amount\n${lines.join('\n')}\n`,
  );
  writeFileSync(join(folder, 'people.csv'), 'id,tier\n1000,gold\n1001,free\n1003,gold\n');
}

/** Submits a document and waits for the end of its run. */
async function run(url: string, config: string): Promise<string> {
  const id = await submit(url, config);
  while (['queued', 'running'].includes(await statusOf(url, id))) await pause(50);
  return id;
}

async function take(browser: Browser, url: string, picture: Picture): Promise<void> {
  const { name, view, shows, text, press, isWhole = false, theme = 'light' } = picture;
  const viewport = { width: picture.width ?? 1280, height: picture.height ?? 800 };
  const context = await browser.newContext({ viewport, colorScheme: theme });
  const page: Page = await context.newPage();
  await page.goto(`${url}${view}`);
  if (text !== undefined)
    await page.getByRole('textbox', { name: 'Document, YAML or JSON' }).fill(text);
  if (press !== undefined) await page.getByRole('button', { name: press }).click();
  await page.getByText(shows).filter({ visible: true }).first().waitFor();
  // Graphs and charts are drawn behind the texts.
  await pause(1500);
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: isWhole });
  await context.close();
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-pictures-'));
const chromium = chromiumOrReason();
if (chromium.start === undefined) throw new Error(chromium.reason);
execFileSync(process.execPath, ['scripts/build.ts'], { cwd: ROOT, stdio: 'inherit' });
writeShop(folder);
const serve = ['serve', '--no-auth', '--listen', '127.0.0.1:0', '--data-dir', '.headgate'];
const server = await startService({
  argv: [process.execPath, join(ROOT, 'bin/headgate.js'), ...serve],
  cwd: folder,
  env: {},
});
const browser = await chromium.start();
try {
  const { url } = server;
  for (let round = 0; round < 4; round += 1) {
    await run(url, DOCUMENT);
    for (const country of COUNTRIES) await run(url, byCountry(country));
  }
  const failed = await run(url, BROKEN);
  const graph = await run(url, GRAPH);
  const orders = await run(url, DOCUMENT);
  const dead = encodeURIComponent('out/bad.jsonl');
  const pictures: readonly Picture[] = [
    { name: 'runs-light', view: '/#/runs', shows: 'report-de' },
    { name: 'runs-phone', view: '/#/runs', shows: 'report-de', width: 360, height: 740 },
    { name: 'run-dark', view: `/#/runs/${orders}`, shows: 'The balance closes', theme: 'dark' },
    {
      name: 'author-dark',
      view: '/#/author',
      shows: 'No problem found',
      text: DOCUMENT,
      theme: 'dark',
    },
    {
      name: 'preview-light',
      view: '/#/author?side=preview',
      shows: 'records would go to jsonl',
      text: DOCUMENT,
    },
    { name: 'form-light', view: '/#/author?side=form', shows: 'delimiter', text: DOCUMENT },
    { name: 'graph-light', view: `/#/runs/${graph}?tab=plan`, shows: 'tee · 5,000 → 10,000' },
    { name: 'lineage-dark', view: '/#/data/lineage', shows: 'orders.csv', theme: 'dark' },
    {
      name: 'dead-letters-light',
      view: `/#/data/deadLetters?location=${dead}`,
      press: 'Inspect',
      shows: 'Edit and replay',
    },
    { name: 'metrics-dark', view: '/#/operate/metrics', shows: 'Runs', theme: 'dark' },
    { name: 'receipt-light', view: `/runs/${failed}/receipt`, shows: 'stock', isWhole: true },
  ];
  for (const picture of pictures) await take(browser, url, picture);
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
