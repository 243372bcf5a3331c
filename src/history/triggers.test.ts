import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { describeTriggers } from '../../test/conformance/triggers-store.ts';
import { testEnv } from '../../test/fakes/env.ts';
import type { History } from './history.ts';
import { openHistory } from './open.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-trigger-memories-'));
const env = testEnv({ cwd: folder });
const opened: History[] = [];
let count = 0;
afterAll(async () => {
  for (const history of opened) await history.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(url: string): Promise<History['triggers']> {
  const history = await openHistory(url, env);
  opened.push(history);
  return history.triggers;
}

describeTriggers('memory', () => open('memory'));
describeTriggers('sqlite', () => open(`sqlite:triggers-${(count += 1)}.db`));
