/**
 * Measures how soon the console is there, how smoothly its long lists are scrolled, and what an open
 * tab costs the server: `node scripts/console-frames.ts`, after `npm run build`. On a busy machine go by the
 * processor time of the page: what waits for a processor shows as a late frame, too.
 */
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { startService } from '../bench/service.ts';
import { chromiumOrReason } from '../test/servers/chromium.ts';

const ROOT = join(import.meta.dirname, '..');
/** `node scripts/console-frames.ts 500` for a first look. */
const RUNS = Number(process.argv[2] ?? 10_000);
const STARTS = 10;
const [LINES, SCROLL_MS, MINUTE_MS, LATE_MS] = [1_000_000, 15_000, 60_000, 50];

const DOCUMENT = `version: 1
name: nightly
pipeline:
  source: { type: csv, config: { path: one.csv } }
  sink: { type: stdout, config: {} }
`;

async function submitAll(url: string): Promise<void> {
  let left = RUNS;
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      for (;;) {
        const { status } = await fetch(`${url}/v1/runs`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ config: DOCUMENT }),
        });
        if (status === 202) break;
        // The queue is full.
        await pause(100);
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, one));
}

/** A log of a million lines, as a server with one answers. */
async function answerWithLines(page: Page): Promise<void> {
  await page.route('**/logs?format=jsonl*', async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const from = Number(query.get('after') ?? -1) + 1;
    const lines = Array.from(
      { length: Math.min(LINES - from, Number(query.get('limit'))) },
      (_, index) =>
        `{"seq":${from + index},"ts":"2026-01-01T00:00:00Z","level":"INFO","line":"INFO line ${from + index}"}`,
    );
    await route.fulfill({ contentType: 'application/x-ndjson', body: `${lines.join('\n')}\n` });
  });
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time, in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

async function measureScrolling(page: Page, box: string): Promise<string> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) =>
    events.push(...(value as unknown as TraceEvent[])),
  );
  await page.evaluate(`globalThis.waits = []; { let last = performance.now();
    const next = (now) => { waits.push(now - last); last = now; requestAnimationFrame(next); };
    requestAnimationFrame(next); }`);
  await session.send('Tracing.start', {
    categories: 'toplevel,devtools.timeline,disabled-by-default-devtools.timeline',
  });
  const place = await page.locator(box).boundingBox();
  await page.mouse.move((place?.x ?? 0) + 200, (place?.y ?? 0) + 200);
  for (const end = Date.now() + SCROLL_MS; Date.now() < end;) {
    await page.mouse.wheel(0, 600);
    await pause(16);
  }
  const waits = await page.evaluate<number[]>('waits.slice(1)');
  const done = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await done;
  const main = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = events.filter(
    ({ name, ph, pid, tid }) => name === 'RunTask' && ph === 'X' && main.has(`${pid} ${tid}`),
  );
  const longest = Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000;
  const late = waits.filter((ms) => ms > LATE_MS).length;
  return `${waits.length} frames, ${late} of them over ${LATE_MS} ms; longest task of the page ${longest.toFixed(1)} ms of processor time`;
}

/** Since its start. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** A new browser profile each time, so that nothing is in its cache. */
async function measureStart(browser: Browser, url: string): Promise<void> {
  const [paints, ready]: [number[], number[]] = [[], []];
  for (let time = 0; time < STARTS; time += 1) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${url}/#/runs`);
    await page.locator('[data-run] a').first().click({ trial: true });
    ready.push(await page.evaluate<number>('performance.now()'));
    paints.push(
      await page.evaluate<number>(
        'performance.getEntriesByName("first-contentful-paint")[0].startTime',
      ),
    );
    await context.close();
  }
  const said = (all: readonly number[]): string =>
    `${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)} ms`;
  console.log(`first paint after ${said(paints)}, a run can be clicked after ${said(ready)}`);
}

async function measureTabs(browser: Browser, url: string, pid: number): Promise<void> {
  const context = await browser.newContext();
  for (const tabs of [0, 1, 10]) {
    while (context.pages().length < tabs) await (await context.newPage()).goto(`${url}/#/runs`);
    await pause(5000);
    const [before, from] = [processorMs(pid), Date.now()];
    await pause(MINUTE_MS);
    const share = (100 * (processorMs(pid) - before)) / (Date.now() - from);
    console.log(`${tabs} open tabs cost the server ${share.toFixed(2)} % of a core`);
  }
  await context.close();
}

const chromium = chromiumOrReason();
if (chromium.start === undefined) throw new Error(chromium.reason);
const folder = mkdtempSync(join(tmpdir(), 'headgate-frames-'));
writeFileSync(join(folder, 'one.csv'), 'id\n1\n');
const serve = ['serve', '--no-auth', '--listen', '127.0.0.1:0', '--data-dir', '.headgate'];
const server = await startService({
  argv: [process.execPath, join(ROOT, 'bin/headgate.js'), ...serve],
  cwd: folder,
  env: { HEADGATE_LOG: 'error' },
});
const browser = await chromium.start();
try {
  const { url, pid } = server;
  await submitAll(url);
  await pause(20_000);
  await measureStart(browser, url);
  const page = await browser.newPage();
  await page.goto(`${url}/#/runs`);
  await page.locator('[data-run]').first().waitFor();
  console.log(`${RUNS} runs: ${await measureScrolling(page, '.grid-body')}`);
  await answerWithLines(page);
  await page.locator('[data-run] a').first().click();
  await page.getByRole('link', { name: 'Log' }).click();
  await page.getByText('1,000,000 lines', { exact: true }).waitFor({ timeout: 150_000 });
  console.log(`${LINES} lines: ${await measureScrolling(page, '.log')}`);
  await page.close();
  await measureTabs(browser, url, pid);
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
