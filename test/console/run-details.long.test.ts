/** What came of a run elsewhere: the data sets that it moved, and the callback at its end. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { orders, threeRows, writeOrders } from './documents.ts';
import { expectFlawless, expectToFit, visit, type Visit, type VisitOptions } from './visit.ts';

const chromium = chromiumOrReason();
const HOSTILE = '<img src=x onerror=alert(1)>';

describe.skipIf(chromium.reason !== undefined)(`after a run [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let receiver: Server;
  /** Answers that a test gives. */
  const held: ServerResponse[] = [];
  let seen: Visit | undefined;
  let ids: { readonly first: string; readonly second: string; readonly failed: string };

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    writeOrders(shop.path('in.csv'));
    receiver = createServer((request, response) => {
      if (request.url === '/late') held.push(response);
      else response.writeHead(request.url === '/no' ? 403 : 204).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    program = await shop.start();
    const input = shop.path('in.csv');
    const document = orders({ name: 'moved', input, folder: shop.dir });
    ids = {
      first: await run(document, '/yes'),
      second: await run(
        {
          ...document,
          pipeline: {
            ...document.pipeline,
            sink: { type: 'jsonl', config: { path: `${shop.dir}/${HOSTILE}.jsonl` } },
          },
        },
        '/no',
      ),
      failed: await run(threeRows({ name: 'three', input, folder: shop.dir }), '/no'),
    };
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    receiver?.closeAllConnections();
    receiver?.close();
    await shop.dispose();
  });

  /** Gives its id when it has ended and its callback was sent to this path. */
  const run = async (config: object | string, path: string): Promise<string> => {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;
    const id = await program.submit(config as string, { callback: { url } });
    await program.ended(id);
    return id;
  };
  const open = async (view: string, options?: VisitOptions): Promise<Visit> => {
    seen = await visit(browser, program.url, options);
    await seen.open(view);
    return seen;
  };

  test.each([{}, { theme: 'dark', width: 360, height: 740 }] as const)(
    'shows what went through each node of a graph: %o',
    async (look) => {
      const source = { type: 'csv', config: { path: shop.path('in.csv') } };
      const sink = (path: string) => ({
        kind: 'sink',
        type: 'jsonl',
        config: { path: shop.path(path) },
      });
      const filter = { type: 'filter', config: { path: '$.name', op: 'ne', value: 'name 7' } };
      const id = await program.submit({
        version: 1,
        name: 'graph',
        pipeline: {
          nodes: {
            people: { kind: 'source', ...source },
            [HOSTILE]: { kind: 'transform', transforms: [filter] },
            copies: { kind: 'tee' },
            one: sink('one.jsonl'),
            two: sink('two.jsonl'),
          },
          edges: [
            { from: 'people', to: HOSTILE },
            { from: HOSTILE, to: 'copies' },
            { from: 'copies', to: 'one' },
            { from: 'copies', to: 'two' },
          ],
        },
      });
      expect((await program.ended(id)).error).toBe(null);
      const visited = await open(`/runs/${id}`, look);
      const { page } = visited;
      const table = page.getByRole('region', { name: 'Nodes' }).last();
      await table
        .getByRole('row', { name: `${HOSTILE} transform Completed 200 1 0 0 199` })
        .waitFor();
      await table.getByRole('row', { name: 'copies tee Completed 199 0 199 0 398' }).waitFor();
      await expectFlawless(visited);
      await expectToFit(visited);
      await page.getByRole('link', { name: 'Plan' }).click();
      await page.getByText('tee · 199 → 398').first().waitFor();
      await page.getByText('sink · 199 → 199').first().waitFor();
      await expectFlawless(visited);
    },
  );

  test('shows which data set it made of which, and no movement of other documents', async () => {
    const visited = await open(`/runs/${ids.first}?tab=lineage`);
    const { page } = visited;
    await page.getByRole('button', { name: 'Table' }).click();
    const rows = page.getByRole('row', { name: /in\.csv.*moved\.jsonl/ });
    await rows.waitFor();
    expect(await page.getByRole('row', { name: HOSTILE }).count()).toBe(0);
    await expectFlawless(visited);
    await visited.close();
    const other = await open(`/runs/${ids.second}?tab=lineage`);
    await other.page.getByRole('button', { name: 'Table' }).click();
    await other.page.getByRole('row', { name: /onerror/ }).waitFor();
    expect(await other.page.getByRole('row', { name: /moved\.jsonl/ }).count()).toBe(0);
    expect(await other.page.locator('img[src="x"], [onerror]').count()).toBe(0);
    await expectFlawless(other);
    await other.page.goto(`${program.url}/#/runs/${ids.failed}?tab=lineage`);
    await other.page.getByText('No movement of this run is known').waitFor();
  });

  test('tells whether its callback was delivered', async () => {
    const { page } = await open(`/runs/${ids.first}?tab=details`);
    await page.getByText('Delivered').waitFor();
    await page.goto(`${program.url}/#/runs/${ids.second}?tab=details`);
    await page.getByText('Given up: the receiver took no attempt').waitFor();
    await page.getByText('the receiver answered 403').waitFor();
  });

  test('tells that its callback is on its way until it was delivered', async () => {
    const input = shop.path('in.csv');
    const id = await run(orders({ name: 'told-late', input, folder: shop.dir }), '/late');
    await expect.poll(() => held).toHaveLength(1);
    const { page } = await open(`/runs/${id}?tab=details`);
    await page.getByText('On its way').waitFor();
    held[0]?.writeHead(204).end();
    await page.getByText('Delivered').waitFor();
  });

  test.each([
    { theme: 'dark', width: 360, height: 740 },
    { theme: 'light', width: 360, height: 740 },
  ] as const)('can be used by everybody: %o', async (look) => {
    for (const [tab, text] of [
      ['lineage', 'onerror'],
      ['details', 'Given up'],
    ] as const) {
      const visited = await open(`/runs/${ids.second}?tab=${tab}`, look);
      await visited.page.getByText(text).first().waitFor();
      await expectFlawless(visited);
      await expectToFit(visited);
      await visited.close();
    }
  });
});
