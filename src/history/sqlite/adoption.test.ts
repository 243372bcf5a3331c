import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { openHistory } from '../open.ts';
import { adoption } from '../sql/sql-leases.ts';
import type { SqlStatement } from '../sql/sql-store.ts';
import { SQLITE } from './sqlite-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-adoption-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the queue of a server that is gone is read in its order, and not sorted', async () => {
  const path = join(folder, 'history.db');
  const history = await openHistory(`sqlite:${path}`, testEnv());
  await history.close();
  const request = { owner: 'new', now: '', leaseUntil: '', limit: 100 };
  const [statement] = adoption(SQLITE, request).next().value as readonly SqlStatement[];
  const database = new DatabaseSync(path);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${statement?.sql}`).all('', '', '', 1);
  database.close();
  const steps = plan.map(({ detail }) => String(detail)).join('\n');
  expect(steps).toContain('USING INDEX svc_serve_runs_queued_in_turn');
  expect(steps).not.toContain('TEMP B-TREE');
});
