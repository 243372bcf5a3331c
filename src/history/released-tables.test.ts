/** Tables of the release before are brought up to date with everything that is in them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, expect, it } from 'vitest';
import { testEnv } from '../../test/fakes/env.ts';
import { freshDatabase } from '../../test/servers/postgres.ts';
import { openHistory } from './open.ts';

const RELEASED = 12;
const folder = mkdtempSync(join(tmpdir(), 'headgate-released-'));
const database = await freshDatabase();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await database.drop();
});

const fixture = (name: string): string =>
  readFileSync(
    join(import.meta.dirname, `../../test/fixtures/history/${name}-${RELEASED}.sql`),
    'utf8',
  );

it.each(['sqlite', 'postgres'])('what a released version stored in %s is read', async (kind) => {
  const history = await openHistory(await released(kind), { ...testEnv(), cwd: folder });
  const { runs } = await history.listRuns({ limit: 9 });
  expect(runs.map(({ run_id, status }) => [run_id, status])).toEqual([
    ['waiting', 'queued'],
    ['ended', 'failed'],
  ]);
  expect(runs[1]).toMatchObject({ error: "it's broken", records_written: 7, name: 'orders' });
  expect(await history.listRuns({ limit: 9, name: 'orders', status: ['failed'] })).toMatchObject({
    runs: [{ run_id: 'ended' }],
  });
  expect(await history.getSubmission('waiting')).toEqual({
    content: '{"version":1}',
    document: { hash: 'd', content: 'version: 1' },
    base: { hash: 'b', content: '{}' },
  });
  const again = { key: 'k', fingerprint: 'f', expired_at_or_before: '2025' };
  const [ended] = runs.slice(1);
  expect(ended).toBeDefined();
  if (ended !== undefined)
    expect(await history.admit({ ...ended, run_id: 'new' }, { claim: again })).toMatchObject({
      type: 'replay',
    });
  expect(await history.readLog('ended', { after: -1, limit: 9 })).toMatchObject({
    lines: [{ line: 'one' }, { line: 'two' }],
    truncated: true,
  });
  expect(await history.listAudit({ limit: 9 })).toMatchObject([{ run_id: 'ended' }]);
  expect(await history.listInstances()).toMatchObject([{ instance_id: 'one', pid: 4 }]);
  expect(await history.catalog.getDataset('ds')).toMatchObject({
    total_records: 7,
    schema_versions: 1,
    downstream: [{ dst_id: 'dt' }],
    stats: [{ records: 7 }],
  });
  expect(await history.outputs.listOutputs({ include_deleted: true })).toMatchObject([
    { id: 'out', retention_days: 7 },
  ]);
  expect(await history.templates.getTemplateVersion('t', 1)).toMatchObject({ body: 'version: 1' });
  expect(await history.templates.listScheduled()).toEqual([{ id: 't', version: 1 }]);
  expect(await history.schedules.listSchedules()).toMatchObject([{ name: 's', successes: 1 }]);
  expect(await history.triggers.getTriggerMemory('w')).toEqual({
    revision: 1,
    content: '{"seen":1}',
  });
  await history.close();
});

async function released(kind: string): Promise<string> {
  if (kind === 'sqlite') {
    const db = new DatabaseSync(join(folder, 'released.db'));
    db.exec(fixture(kind));
    db.close();
    return 'sqlite:released.db';
  }
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(fixture(kind));
  await client.end();
  return database.url;
}
