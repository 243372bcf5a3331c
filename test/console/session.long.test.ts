/** Tokens, roles, and a server that goes away, as people at the console see them. */
import { writeFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { expectFlawless, visit, type Visit } from './visit.ts';

const chromium = chromiumOrReason();
const TOKEN = 'first-token-of-ann';
const NEXT_TOKEN = 'second-token-of-ann';
const READER = 'token-of-the-reader';

describe.skipIf(chromium.reason !== undefined)(`signing in [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit | undefined;

  const writePrincipals = (token: string): void =>
    writeFileSync(
      shop.path('auth.json'),
      JSON.stringify({
        principals: [
          { name: 'ann', token, role: 'admin' },
          { name: 'rita', token: READER, role: 'viewer' },
        ],
      }),
    );

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    writePrincipals(TOKEN);
    program = await shop.start({
      args: ['--auth-config', shop.path('auth.json'), '--history', 'memory'],
    });
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  const open = async (view: string): Promise<Visit> => {
    seen = await visit(browser, program.url, { expects: [401] });
    await seen.open(view);
    return seen;
  };
  const signIn = async ({ page }: Visit, token: string): Promise<void> => {
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Access token').fill(token);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
  };
  /** What is typed before the dialog is gone would go into the dialog. */
  const signedIn = ({ page }: Visit): Promise<void> =>
    page.getByRole('dialog').waitFor({ state: 'detached' });

  test('asks for a token, refuses a wrong one, and keeps the right one in this tab only', async () => {
    const visited = await open('/runs');
    const { page } = visited;
    await page.getByText('This server asks for an access token.').waitFor();
    await expectFlawless(visited);
    await signIn(visited, 'nonsense');
    await page.getByText('The server does not know this token.').waitFor();
    await signIn(visited, TOKEN);
    await page.getByText('ann · admin').waitFor();
    await page.getByText('No run yet').waitFor();
    const kept = 'JSON.stringify([location.href, document.cookie, { ...localStorage }])';
    expect(await page.evaluate<string>(kept)).not.toContain(TOKEN);
    await page.reload();
    await page.getByText('ann · admin').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('This server asks for an access token.').waitFor();
    expect(await page.evaluate<string>('JSON.stringify({ ...sessionStorage })')).not.toContain(
      TOKEN,
    );
    expect(await visited.problems()).toEqual([]);
  });

  test('offers a reader nothing that the role may not do', async () => {
    const visited = await open('/author');
    await signIn(visited, READER);
    await visited.page.getByText('Checking a document needs the role operator').waitFor();
    expect(await visited.page.getByRole('button', { name: 'Submit' }).count()).toBe(0);
    await visited.page.goto(`${program.url}/#/operate/audit`);
    await visited.page.getByText('Only an admin reads the audit log').waitFor();
  });

  test('asks again for a token that is taken no more, and keeps what was typed', async () => {
    const visited = await open('/author');
    const { page } = visited;
    await signIn(visited, TOKEN);
    await signedIn(visited);
    const editor = page.getByRole('textbox', { name: 'Document, YAML or JSON' });
    await editor.fill('version: 1\nname: kept\n');
    await page.getByText(/\d problems?$/).waitFor();
    await editor.press('Control+End');
    writePrincipals(NEXT_TOKEN);
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await program.call('POST', '/v1/reload', undefined, headers)).status).toBe(200);
    // At once: the dialog, which comes with the next question to the server, takes the focus.
    await page.keyboard.insertText('# more');
    await page.getByText('The server does not take the token any more.').waitFor();
    await signIn(visited, NEXT_TOKEN);
    await signedIn(visited);
    await page.getByText(/\d problems?$/).waitFor();
    expect(await editor.innerText()).toContain('name: kept');
    expect(await editor.innerText()).toContain('# more');
    writePrincipals(TOKEN);
    const next = { authorization: `Bearer ${NEXT_TOKEN}` };
    expect((await program.call('POST', '/v1/reload', undefined, next)).status).toBe(200);
  });

  test('says that the server does not answer, and goes on when it does', async () => {
    seen = await visit(browser, program.url, { expects: [401] });
    const { page } = seen;
    await seen.open('/runs');
    await signIn(seen, TOKEN);
    await page.getByText('No run yet').waitFor();
    await page.context().setOffline(true);
    await page.getByText('The server does not answer.').waitFor();
    const body = {
      config:
        'version: 1\npipeline:\n  source: {type: csv, config: {path: a}}\n  sink: {type: jsonl, config: {path: b}}\n',
      name: 'meanwhile',
    };
    await program.call('POST', '/v1/runs', body, { authorization: `Bearer ${TOKEN}` });
    await page.context().setOffline(false);
    await page.getByText('The server is back.').waitFor();
    await page.getByRole('link', { name: 'meanwhile' }).waitFor();
    await page.getByText('The server does not answer.').waitFor({ state: 'detached' });
  });

  test('serves the page to everybody, and the API to nobody', async () => {
    const page = await fetch(program.url, { headers: { accept: 'text/html' } });
    const html = await page.text();
    const [script = ''] = /\/assets\/index-[^"]+\.js/.exec(html) ?? [];
    const file = await fetch(program.url + script);
    expect([page.status, file.status]).toEqual([200, 200]);
    expect(file.headers.get('cache-control')).toContain('immutable');
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/);
    for (const path of ['/v1/runs', '/v1/whoami', '/v1/schemas'])
      expect((await fetch(program.url + path)).status).toBe(401);
    const links = await fetch(program.url, { headers: { accept: 'application/json' } });
    expect(await links.json()).toMatchObject({ name: 'headgate' });
  });

  test('is not there with --no-ui', async () => {
    const bare = await shop.start({ args: ['--no-ui', '--history', 'memory'] });
    const page = await fetch(bare.url, { headers: { accept: 'text/html' } });
    const html = await page.text();
    expect(html).toContain('/openapi.json');
    expect(html).not.toContain('/assets/index-');
  });
});
