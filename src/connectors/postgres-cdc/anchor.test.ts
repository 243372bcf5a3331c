import { Client, type Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  PUBLICATION,
  ReplicatedTable,
  SLOT,
  TABLE,
} from '../../../test/conformance/fixtures/replicated-table.ts';
import { sourceContext } from '../../../test/fakes/env.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { checkAnchor, takeAnchor } from './anchor.ts';
import { postgresCdcConfig, type PostgresCdcConfig } from './config.ts';
import { postgresCdcSource } from './index.ts';

let server: ReplicatedTable;
beforeAll(async () => {
  server = await ReplicatedTable.start();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  await server.renew('id int PRIMARY KEY');
  await server.dropSlots();
});

function config(more: JsonObject = {}): PostgresCdcConfig {
  const checked = check(postgresCdcConfig, {
    connection_url: server.url,
    slot_name: SLOT,
    publication_name: PUBLICATION,
    idle_timeout: 0.5,
    ...more,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function idsBehind(bookmark: JsonValue): Promise<unknown[]> {
  const source = await postgresCdcSource.open(config(), sourceContext());
  const ids: unknown[] = [];
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE, bookmark }))
      for (const record of page.records() as { after: { id: number } }[]) ids.push(record.after.id);
  } finally {
    await source.close();
  }
  return ids;
}

async function visible(client: Pool): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>(`SELECT id FROM ${TABLE} ORDER BY id`);
  return rows.map(({ id }) => id);
}

test('a position makes the slot, and what is committed behind it is read', async () => {
  await server.client.query(`INSERT INTO ${TABLE} VALUES (1)`);
  const anchor = await takeAnchor(config(), sourceContext());
  expect(await visible(server.client)).toEqual([1]);
  await server.client.query(`INSERT INTO ${TABLE} VALUES (2)`);
  expect(await idsBehind(anchor)).toEqual([2]);
});

test('with a slot that is there it is the present one, and not that of the slot', async () => {
  await server.makeSlot(SLOT);
  await server.client.query(`INSERT INTO ${TABLE} VALUES (1)`);
  const anchor = await takeAnchor(config(), sourceContext());
  await server.client.query(`INSERT INTO ${TABLE} VALUES (2)`);
  expect(await idsBehind(anchor)).toEqual([2]);
});

test('what is open when it is taken is either seen by a query or read behind it', async () => {
  await server.makeSlot(SLOT);
  const other = new Client({ connectionString: server.url });
  await other.connect();
  try {
    await other.query(`BEGIN; INSERT INTO ${TABLE} VALUES (1)`);
    let isTaken = false;
    const taking = takeAnchor(config(), sourceContext()).then((anchor) => {
      isTaken = true;
      return anchor;
    });
    await eventually(async () => {
      const { rows } = await server.client.query(
        `SELECT FROM pg_stat_activity WHERE query LIKE '%txid_snapshot_xmin%' AND pid <> pg_backend_pid()`,
      );
      if (rows.length === 0) throw new Error('nobody waits yet');
    });
    // One that begins after the position is not waited for.
    await server.client.query(`INSERT INTO ${TABLE} VALUES (2)`);
    expect(isTaken).toBe(false);
    await other.query('COMMIT');
    const anchor = await taking;
    expect(await visible(server.client)).toEqual([1, 2]);
    expect(await idsBehind(anchor)).toEqual([2, 1]);
  } finally {
    await other.end();
  }
});

test('a wait for others ends when the run is stopped', async () => {
  await server.makeSlot(SLOT);
  const other = new Client({ connectionString: server.url });
  await other.connect();
  try {
    await other.query(`BEGIN; INSERT INTO ${TABLE} VALUES (1)`);
    const stop = new AbortController();
    const taking = takeAnchor(config(), sourceContext({ signal: stop.signal }));
    stop.abort(new Error('stopped'));
    await expect(taking).rejects.toThrow('stopped');
  } finally {
    await other.end();
  }
});

test('changes that are gone, or confirmed to somebody else, are noticed', async () => {
  const anchor = await takeAnchor(config(), sourceContext());
  await checkAnchor(config(), sourceContext(), anchor);
  await server.client.query(`INSERT INTO ${TABLE} VALUES (1)`);
  await server.client.query(`SELECT pg_replication_slot_advance('${SLOT}', pg_current_wal_lsn())`);
  await expect(checkAnchor(config(), sourceContext(), anchor)).rejects.toThrow(
    'can no longer be read',
  );
  await server.dropSlots();
  await expect(checkAnchor(config(), sourceContext(), anchor)).rejects.toThrow('is gone');
});

test('a slot that may not be made is missed', async () => {
  const taking = takeAnchor(config({ create_slot_if_missing: false }), sourceContext());
  await expect(taking).rejects.toThrow('there is no slot');
});
