/** What the server says of its change data capture. */
import { ConnectorError } from '../../lib/errors.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import type { Link } from '../_mssql/connection.ts';
import { numberOf } from '../_mssql/errors.ts';
import type { Cell } from '../_mssql/result-types.ts';
import { after, before, bytesOf, lsnOf, NO_LSN, later, type Lsn } from './read/lsn.ts';
import type { Positions } from './read/position.ts';

export interface Instance {
  /** As the config has it. */
  readonly name: string;
  readonly schema: string;
  readonly table: string;
}

/** What can be read at a moment. */
export interface Kept {
  /** Of the last transaction that is captured; absent before the first one. */
  readonly last: Lsn | undefined;
  /** By instance: the first number whose changes are kept. */
  readonly first: ReadonlyMap<string, Lsn>;
  /** The clock of the server, whose times have no zone. */
  readonly now: string;
}

const NO_RIGHT = 229;

export async function checkEnabled(link: Link): Promise<void> {
  const sql = 'SELECT is_cdc_enabled FROM sys.databases WHERE database_id = DB_ID()';
  const { rows } = await link.ask(sql);
  if (rows[0]?.[0] === true || Number(rows[0]?.[0]) === 1) return;
  throw new ConnectorError('refused', 'change data capture is not enabled for the database', {
    hint: 'EXEC sys.sp_cdc_enable_db, by a member of `sysadmin`; the SQL Server Agent has to run',
  });
}

const INSTANCES = `SELECT capture_instance, OBJECT_SCHEMA_NAME(source_object_id) AS source_schema, OBJECT_NAME(source_object_id) AS source_table
  FROM cdc.change_tables`;

/** All of the database. */
export async function listInstances(link: Link): Promise<Instance[]> {
  const { rows } = await asReader(link.ask(INSTANCES));
  return rows.map(([name, schema, table]) => ({
    name: String(name),
    schema: textOf(schema, ''),
    table: textOf(table, String(name)),
  }));
}

/** Those of the config, in its order. */
export async function findInstances(link: Link, names: readonly string[]): Promise<Instance[]> {
  const all = await listInstances(link);
  return names.map((name) => {
    const found = all.find((one) => inOneCase(one.name) === inOneCase(name));
    if (found !== undefined) return { ...found, name };
    const known = all.map((one) => `\`${one.name}\``).join(', ');
    throw new ConnectorError('missing', `there is no capture instance \`${name}\``, {
      hint: `${known === '' ? 'there is none in this database' : `there are ${known}`}; EXEC sys.sp_cdc_enable_table makes one`,
    });
  });
}

export async function askKept(link: Link, names: readonly string[]): Promise<Kept> {
  const firsts = names.map((_, at) => `sys.fn_cdc_get_min_lsn(@i${at}) AS i${at}`);
  const sql = `SELECT sys.fn_cdc_get_max_lsn() AS last_lsn, GETDATE() AS now, ${firsts.join(', ')}`;
  const values = names.map((value, at) => ({ name: `i${at}`, type: 'text' as const, value }));
  const { rows } = await link.ask(sql, values);
  const [last, now, ...found] = rows[0] ?? [];
  const first = new Map<string, Lsn>();
  for (const [at, name] of names.entries()) {
    const lsn = lsnOf(found[at]) ?? NO_LSN;
    if (lsn === NO_LSN) throw hidden(name);
    first.set(name, lsn);
  }
  return { last: lsnOf(last), first, now: String(now) };
}

/** The server says the same of an instance that is gone and of one that the user may not read. */
function hidden(name: string): ConnectorError {
  return new ConnectorError(
    'missing',
    `the server gives no range of the capture instance \`${name}\`: it was removed, its job has not run yet, or this user may not read it`,
    {
      hint: 'the user needs SELECT on the columns of the table, and membership in the role that `sp_cdc_enable_table` was given; the SQL Server Agent has to run',
    },
  );
}

/** Behind everything that is captured. A new instance may begin behind that. */
export function endOf({ last, first }: Kept, name: string): Lsn {
  return later(last ?? NO_LSN, before(first.get(name) ?? NO_LSN));
}

/** Throws where changes behind the positions are not there to be read. */
export function checkKept(kept: Kept, positions: Positions): void {
  for (const [name, position] of positions) {
    const first = kept.first.get(name) ?? NO_LSN;
    if (first > after(position)) throw lost(name, position, first);
    if (position > endOf(kept, name)) throw aheadOf(name, position);
  }
}

export function lost(name: string, position: Lsn, first?: Lsn): ConnectorError {
  const since = first === undefined ? '' : `, only those from ${first} on`;
  return new ConnectorError(
    'missing',
    `the server no longer keeps all changes of \`${name}\` behind ${position}${since}: they were cleaned up, or the capture instance was made anew`,
    {
      hint: "remove the bookmark, and load the tables anew; `headgate replicate --restart` does both. `EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = …` (minutes) keeps changes for longer",
    },
  );
}

function aheadOf(name: string, position: Lsn): ConnectorError {
  return new ConnectorError(
    'missing',
    `the bookmark of \`${name}\` (${position}) is ahead of everything that the server has captured: it belongs to another database, or to one before it was restored`,
    {
      hint: 'remove the bookmark, and load the tables anew; `headgate replicate --restart` does both',
    },
  );
}

/** Number and time of a transaction; `undefined` where there are not so many. */
export async function transactionAfter(
  link: Link,
  lsn: Lsn,
  skipped: number,
): Promise<{ readonly lsn: Lsn; readonly time: string } | undefined> {
  const sql = `SELECT start_lsn, tran_end_time FROM cdc.lsn_time_mapping WHERE start_lsn > CAST(@after AS binary(10))
    ORDER BY start_lsn OFFSET ${skipped} ROWS FETCH NEXT 1 ROWS ONLY`;
  const { rows } = await asReader(
    link.ask(sql, [{ name: 'after', type: 'bytes', value: bytesOf(lsn) }]),
  );
  const found = lsnOf(rows[0]?.[0]);
  return found === undefined ? undefined : { lsn: found, time: String(rows[0]?.[1]) };
}

/** Tables of `cdc` are not for everybody. */
async function asReader<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (numberOf(error) !== NO_RIGHT) throw error;
    throw new ConnectorError('refused', 'the user may not read the tables of change data capture', {
      cause: error,
      hint: 'GRANT SELECT ON SCHEMA::cdc TO the user of the address',
    });
  }
}

function textOf(cell: Cell | undefined, other: string): string {
  return cell === null || cell === undefined ? other : String(cell);
}
