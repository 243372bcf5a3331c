/** The position from which changes complete what a query reads of the tables. */
import type { Client } from 'pg';
import type { SourceContext } from '../../kit/context.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { readAgain } from '../_brokers/read-again.ts';
import type { PostgresCdcConfig } from './config.ts';
import { bookmarkOf, lsnOf } from './read/bookmark.ts';
import { parseLsn } from './read/lsn.ts';
import { asked, connectToLog, connectUsual } from './session.ts';
import { checkPublication, makeSlot, slotBehind } from './slot.ts';

const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [20, 1000];
/** The attempt, after about a second, from which it is told what is waited for. */
const TOLD_AT = 6;

export function takeAnchor(config: PostgresCdcConfig, context: SourceContext): Promise<JsonValue> {
  return usually(config, context, async (client) => {
    await checkPublication(client, config);
    const slot = await slotBehind(client, config, undefined);
    if (slot === undefined) await makeOwnSlot(config, context);
    const position = await positionOf(client);
    await untilVisible(client, position, context);
    return bookmarkOf(position.lsn);
  });
}

export async function checkAnchor(
  config: PostgresCdcConfig,
  context: SourceContext,
  bookmark: JsonValue,
): Promise<void> {
  await usually(config, context, (client) => slotBehind(client, config, lsnOf(bookmark)));
}

function usually<T>(
  config: PostgresCdcConfig,
  context: SourceContext,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  return readAgain(context)(async () => {
    const client = await connectUsual(config, context);
    try {
      return await asked('the server cannot be asked', ask(client), context.signal);
    } finally {
      void client.end().catch(() => {});
    }
  });
}

/** A permanent slot outlives the connection that made it. */
async function makeOwnSlot(config: PostgresCdcConfig, context: SourceContext): Promise<void> {
  const log = await connectToLog(config, context);
  try {
    await asked('the slot cannot be made', makeSlot(log, config), context.signal);
  } finally {
    void log.end().catch(() => {});
  }
}

interface Position {
  readonly lsn: bigint;
  /** Every transaction that is open now has a smaller number; absent on a standby. */
  readonly number: string | undefined;
}

/**
 * Only what is on the disk of the server keeps its position when that crashes. What a standby has
 * replayed can be seen there, so that nothing has to be waited for.
 */
async function positionOf(client: Client): Promise<Position> {
  const { rows } = await client.query<{ lsn: string | null; standby: boolean }>(
    `SELECT pg_is_in_recovery() AS standby, (CASE WHEN pg_is_in_recovery()
       THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END)::text AS lsn`,
  );
  const lsn = parseLsn(rows[0]?.lsn ?? '');
  if (lsn === undefined)
    throw new ConnectorError('data', 'the server does not say where its log ends');
  if (rows[0]?.standby === true) return { lsn, number: undefined };
  const own = await client.query<{ number: string }>('SELECT txid_current()::text AS number');
  return { lsn, number: own.rows[0]?.number };
}

/**
 * A commit is in the log a moment before other sessions see it, and longer where it waits for a
 * standby. So all transactions that were open have to end before a query is begun.
 */
async function untilVisible(
  client: Client,
  { number }: Position,
  { env, signal }: SourceContext,
): Promise<void> {
  if (number === undefined) return;
  const areOpen = async (): Promise<boolean> => !(await haveEnded(client, number));
  for (let attempt = 0; await areOpen(); attempt += 1) {
    if (attempt === TOLD_AT)
      env.log.info('waiting for open transactions to end before the snapshot', {
        processes: await openProcesses(client),
      });
    await env.clock.sleep(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt), signal);
    signal.throwIfAborted();
  }
}

/** All that began before the one of this number. */
async function haveEnded(client: Client, number: string): Promise<boolean> {
  const { rows } = await client.query<{ ended: boolean }>(
    `SELECT txid_snapshot_xmin(txid_current_snapshot()) > ${number} AS ended`,
  );
  return rows[0]?.ended === true;
}

/** As far as this user may see them. */
async function openProcesses(client: Client): Promise<string> {
  const { rows } = await client.query<{ pids: string | null }>(
    "SELECT string_agg(pid::text, ', ') AS pids FROM pg_stat_activity WHERE backend_xid IS NOT NULL",
  );
  return rows[0]?.pids ?? 'unknown';
}
