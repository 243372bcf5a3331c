/** A visitor of the console, who notices everything that a page must not do. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Everything that WCAG 2.2 AA asks for and a machine can see. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
/** What is waited for may take long on a busy machine. */
const WAIT_MS = 40_000;

const NOTE_VIOLATIONS = `
  globalThis.violations = [];
  addEventListener('securitypolicyviolation', (event) =>
    globalThis.violations.push(event.violatedDirective + ' ' + event.blockedURI));
`;

export interface Visit {
  readonly page: Page;
  /** Opens a view: `/runs`. */
  open(view: string): Promise<void>;
  /** Errors of scripts, forbidden actions, requests to other servers, dialogs of scripts. */
  problems(): Promise<readonly string[]>;
  /** What keeps people out, as axe sees it. */
  barriers(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface VisitOptions {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** Answers of the server that are no problem here. */
  readonly expects?: readonly number[];
}

export async function visit(
  browser: Browser,
  url: string,
  { theme = 'light', width = 1280, height = 800, expects = [] }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
  context.setDefaultTimeout(WAIT_MS);
  await context.addInitScript(NOTE_VIOLATIONS);
  const page = await context.newPage();
  const noted: string[] = [];
  page.on('pageerror', ({ message }) => noted.push(`error: ${message}`));
  page.on('dialog', (dialog) => {
    noted.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== 'blob:' && origin !== new URL(url).origin)
      noted.push(`request to ${request.url()}`);
  });
  page.on('console', (message) => {
    const status = Number(/status of (\d+)/.exec(message.text())?.[1]);
    if (message.type() === 'error' && !expects.includes(status))
      noted.push(`console: ${message.text()}`);
  });
  return {
    page,
    open: async (view) => {
      await page.goto(`${url}/#${view}`);
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
    },
    problems: async () => [...noted, ...(await page.evaluate<string[]>('globalThis.violations'))],
    barriers: async () => {
      await page.evaluate(AXE);
      return page.evaluate<string[]>(`
        axe.run(document, { runOnly: ${JSON.stringify(TAGS)}, resultTypes: ['violations'] }).then(({ violations }) =>
          violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => [id, html.slice(0, 200), failureSummary].join(' | '))))
      `);
    },
    close: () => context.close(),
  };
}

/** Nothing was noticed, and nobody is kept out. */
export async function expectFlawless(seen: Visit): Promise<void> {
  expect(await seen.barriers()).toEqual([]);
  expect(await seen.problems()).toEqual([]);
}

/** Nothing has to be scrolled sideways. */
export async function expectToFit({ page }: Visit): Promise<void> {
  const beyond = (): Promise<number> =>
    page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
  // Charts take their width a moment after they are drawn.
  await expect.poll(beyond).toBe(0);
}
