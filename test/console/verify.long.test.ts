/** Comparing a destination with its source in the console, and repairing what differs. */
import { DatabaseSync } from 'node:sqlite';
import { writeFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from '../e2e/serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';
import { chromiumOrReason } from '../servers/chromium.ts';
import { expectFlawless, visit, type Visit } from './visit.ts';

const chromium = chromiumOrReason();

describe.skipIf(chromium.reason !== undefined)(`verify [${chromium.reason ?? ''}]`, () => {
  const shop = workshop();
  let browser: Browser;
  let program: Program;
  let seen: Visit | undefined;

  beforeAll(async () => {
    await launcherPath({ withConsole: true });
    if (chromium.start === undefined) return;
    browser = await chromium.start();
    program = await shop.start();
  });
  afterEach(() => seen?.close());
  afterAll(async () => {
    await browser?.close();
    await shop.dispose();
  });

  test.each(['light', 'dark'] as const)(
    'shows both sides of each key that differs, and repairs them, in %s',
    async (theme) => {
      const [input, output] = [shop.path(`${theme}.csv`), shop.path(`${theme}.db`)];
      writeFileSync(input, 'id,name\n1,Ann\n2,Bea\n3,Cid\n');
      const config = `version: 1\nname: people-${theme}\npipeline:\n  source: { type: csv, config: { path: ${input} } }\n  sink: { type: sqlite, config: { database_url: "sqlite:${output}?mode=rwc", table_name: people, column_mapping: auto_map, write_mode: upsert, key: [id] } }\n`;
      const id = await program.submit(config);
      expect((await program.ended(id)).status).toBe('completed');
      const execute = (sql: string): unknown[] => {
        using database = new DatabaseSync(output);
        return database.prepare(sql).all();
      };
      execute("DELETE FROM people WHERE id = '1'");
      execute("UPDATE people SET name = 'Eve' WHERE id = '3'");
      seen = await visit(browser, program.url, { theme });
      const { page } = seen;
      await seen.open(`/runs/${id}`);
      await page.getByRole('button', { name: 'Verify' }).click();
      const dialog = page.getByRole('dialog', { name: 'Compare the destination with its source' });
      await dialog.getByLabel(/^Document/).fill(config);
      await dialog.getByRole('button', { name: 'Compare' }).click();
      await dialog.getByText('2 keys differ.').waitFor();
      await dialog.getByRole('row', { name: 'id="1" there missing' }).waitFor();
      await dialog.getByRole('row', { name: 'id="3" there other values name' }).waitFor();
      await expectFlawless(seen);
      await dialog.getByRole('button', { name: 'Show what a repair would do' }).click();
      await dialog.getByText('A repair would write 2 and delete 0 records.').waitFor();
      expect(execute('SELECT id FROM people')).toHaveLength(2);
      await dialog.getByRole('button', { name: 'Repair now' }).click();
      await dialog.getByText('2 records were written and 0 deleted.').waitFor();
      expect(
        execute('SELECT name FROM people ORDER BY id').map(
          (row) => Object.values(row as object)[0],
        ),
      ).toEqual(['Ann', 'Bea', 'Cid']);
    },
  );
});
