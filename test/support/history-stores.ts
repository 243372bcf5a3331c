/** One part of a history in every kind of database, for the suite that it is held to. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { openHistory } from '../../src/history/open.ts';
import { testEnv } from '../fakes/env.ts';
import { freshDatabase } from '../servers/postgres.ts';

/** Each store is empty when it is opened; all are closed at the end of the file. */
export function describeStores<P extends keyof History>(
  part: P,
  describe: (name: string, open: () => Promise<History[P]>) => void,
): void {
  const folder = mkdtempSync(join(tmpdir(), `headgate-${part}-`));
  const env = testEnv({ cwd: folder });
  const opened: History[] = [];
  const databases: { drop(): Promise<void> }[] = [];
  let count = 0;
  afterAll(async () => {
    for (const history of opened) await history.close();
    for (const database of databases) await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = async (url: string): Promise<History[P]> => {
    const history = await openHistory(url, env);
    opened.push(history);
    return history[part];
  };
  describe('memory', () => open('memory'));
  describe('sqlite', () => open(`sqlite:${(count += 1)}.db`));
  describe('postgres', async () => {
    const database = await freshDatabase();
    databases.push(database);
    return open(database.url);
  });
}
