/** The replication slot, which holds the log for one reader, and what it needs. */
import type { Client } from 'pg';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { codeOf, postgresError } from '../../lib/sql/postgres.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { PostgresCdcConfig } from './config.ts';
import { formatLsn, parseLsn } from './read/lsn.ts';

const PLUGIN = 'pgoutput';
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [250, 4000];
const IN_USE = '55006';
const EXISTS = '42710';

export interface Slot {
  /** Everything before it was confirmed, and can no longer be read. */
  readonly confirmed: bigint;
  readonly activePid: number | undefined;
}

/** For sessions that take only simple statements. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export interface Server {
  /** Silence after which it gives a reader up, in milliseconds; 0: never. */
  readonly timeoutMs: number;
  /** Whether a table belongs to the publication. */
  readonly hasTables: boolean;
}

/** Throws when the server, or the publication, is not ready. */
export async function checkPublication(
  client: Client,
  { publication_name: name }: PostgresCdcConfig,
): Promise<Server> {
  const { rows } = await client.query<Settings>(
    `SELECT current_setting('wal_level') AS level,
       (SELECT setting::int FROM pg_settings WHERE name = 'wal_sender_timeout') AS timeout,
       EXISTS (SELECT FROM pg_publication WHERE pubname = ${literal(name)}) AS found,
       EXISTS (SELECT FROM pg_publication_tables WHERE pubname = ${literal(name)}) AS tables`,
  );
  const { level, timeout, found, tables } = rows[0] ?? NO_SETTINGS;
  if (level !== 'logical')
    throw new ConnectorError(
      'refused',
      `the server has \`wal_level = ${level}\`, not \`logical\``,
      {
        hint: 'ALTER SYSTEM SET wal_level = logical, and start the server anew',
      },
    );
  if (!found)
    throw new ConnectorError('missing', `there is no publication \`${name}\` in this database`, {
      hint: `CREATE PUBLICATION ${quoteName(name)} FOR TABLE …`,
    });
  return { timeoutMs: timeout, hasTables: tables };
}

interface Settings {
  readonly level: string;
  readonly timeout: number;
  readonly found: boolean;
  readonly tables: boolean;
}

const NO_SETTINGS: Settings = { level: 'unknown', timeout: 0, found: false, tables: false };

/** How far the log of the server reaches. */
export async function endOfLog(client: Client): Promise<bigint> {
  const { rows } = await client.query<{ lsn: string | null }>(
    `SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
       ELSE pg_current_wal_flush_lsn() END)::text AS lsn`,
  );
  return parseLsn(rows[0]?.lsn ?? '') ?? 0n;
}

/** `undefined` when there is none of this name; throws when it is no slot that can be read here. */
export async function findSlot(
  client: Client,
  { slot_name: name, slot_type: type }: PostgresCdcConfig,
): Promise<Slot | undefined> {
  const { rows } = await client.query<{ slot: SlotRow; database: string }>(
    `SELECT to_json(s) AS slot, current_database() AS database
     FROM pg_replication_slots AS s WHERE slot_name = ${literal(name)}`,
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  refuseForeign(name, row.slot, row.database);
  const { active_pid: pid, confirmed_flush_lsn: confirmed, temporary } = row.slot;
  if (type === 'temporary' && !temporary)
    throw new ConnectorError('refused', `the slot \`${name}\` is permanent`, {
      hint: 'choose another `slot_name`, or remove `slot_type: temporary`',
    });
  return { confirmed: parseLsn(confirmed ?? '') ?? 0n, activePid: pid ?? undefined };
}

/** What is told of a slot; older servers know less of it. */
interface SlotRow {
  readonly plugin: string | null;
  readonly database: string | null;
  readonly temporary: boolean;
  readonly active_pid: number | null;
  readonly confirmed_flush_lsn: string | null;
  readonly wal_status?: string | null;
  readonly invalidation_reason?: string | null;
}

function refuseForeign(name: string, slot: SlotRow, here: string): void {
  const { plugin, database, wal_status: status, invalidation_reason: why } = slot;
  if (plugin !== PLUGIN)
    throw new ConnectorError(
      'refused',
      plugin === null
        ? `the slot \`${name}\` is one of physical replication`
        : `the slot \`${name}\` has the plugin \`${plugin}\`, not \`${PLUGIN}\``,
      { hint: 'choose another `slot_name`' },
    );
  if (database !== here)
    throw new ConnectorError(
      'refused',
      `the slot \`${name}\` belongs to the database \`${database}\``,
      { hint: 'choose another `slot_name`, or change the database of `connection_url`' },
    );
  if (status === 'lost')
    throw new ConnectorError(
      'missing',
      `the slot \`${name}\` is lost: the server has removed changes that it had not read yet${typeof why === 'string' ? ` (${why})` : ''}`,
      {
        hint: `drop it (SELECT pg_drop_replication_slot('${name}')), remove the bookmark, and load the tables anew; \`max_slot_wal_keep_size\` says how much the server keeps`,
      },
    );
}

/**
 * The slot that holds everything behind `bookmark`, where the last run stopped; `undefined` when it
 * is to be made.
 */
export async function slotBehind(
  client: Client,
  config: PostgresCdcConfig,
  bookmark: bigint | undefined,
): Promise<Slot | undefined> {
  const { slot_name: name, create_slot_if_missing: mayMake } = config;
  const found = await findSlot(client, config);
  if (found !== undefined) {
    if (bookmark !== undefined && bookmark < found.confirmed)
      throw new ConnectorError(
        'missing',
        `changes from ${formatLsn(bookmark)}, where the last run stopped, to ${formatLsn(found.confirmed)} were confirmed to the slot \`${name}\` and can no longer be read`,
        {
          hint: 'give each pipeline a slot of its own; to go on behind the gap, remove the bookmark',
        },
      );
    return found;
  }
  if (bookmark !== undefined)
    throw new ConnectorError(
      'missing',
      `the slot \`${name}\` is gone, and with it the changes since ${formatLsn(bookmark)}, where the last run stopped`,
      {
        hint: 'remove the bookmark, and load the tables anew; `headgate replicate --restart` does both',
      },
    );
  if (!mayMake)
    throw new ConnectorError('missing', `there is no slot \`${name}\``, {
      hint: `SELECT pg_create_logical_replication_slot('${name}', '${PLUGIN}'), or set \`create_slot_if_missing: true\``,
    });
  return undefined;
}

/** On the connection that will read it: a temporary slot ends with that. */
export async function makeSlot(client: Client, config: PostgresCdcConfig): Promise<Slot> {
  const { slot_name: name, slot_type: type } = config;
  const temporary = type === 'temporary' ? 'TEMPORARY ' : '';
  try {
    const { rows } = await client.query<{ consistent_point: string }>(
      `CREATE_REPLICATION_SLOT ${quoteName(name)} ${temporary}LOGICAL ${PLUGIN} NOEXPORT_SNAPSHOT`,
    );
    return { confirmed: parseLsn(rows[0]?.consistent_point ?? '') ?? 0n, activePid: undefined };
  } catch (error) {
    // Another run was faster; it is found by the next attempt.
    if (codeOf(error) === EXISTS)
      throw new ConnectorError(
        'connection',
        `the slot \`${name}\` was made by another run just now`,
      );
    throw postgresError(error, `the slot \`${name}\` cannot be made`);
  }
}

interface Waiting {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Repeats what fails because the slot is in use: a reader that was killed may be there a moment longer. */
export async function whenFree<T>(
  config: PostgresCdcConfig,
  { clock, signal }: Waiting,
  use: () => Promise<T>,
): Promise<T> {
  const { slot_name: name, slot_acquire_retries: retries } = config;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await use();
    } catch (error) {
      if (codeOf(error) !== IN_USE) throw error;
      if (attempt >= retries) throw inUse(name, error);
    }
    await clock.sleep(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt), signal);
    signal.throwIfAborted();
  }
}

/** The message of the server names the process. */
function inUse(name: string, cause: unknown): ConnectorError {
  const pid = /\d+$/.exec(messageOf(cause).trim())?.[0];
  const who = pid === undefined ? '' : ` (process ${pid} of the server)`;
  return new ConnectorError('refused', `the slot \`${name}\` is in use by another reader${who}`, {
    cause,
    hint: `end that reader${pid === undefined ? '' : ` (SELECT pg_terminate_backend(${pid}))`}, or give this pipeline a slot of its own`,
  });
}
