/** Connections to the server of the log. */
import type { Connection } from 'mysql2';
import { resolve } from 'node:path';
import type { PartContext } from '../../kit/context.ts';
import { askMysql, connectMysql, type SqlValue } from '../../lib/sql/mysql.ts';
import { mysqlError } from '../../lib/sql/mysql-errors.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import type { MysqlCdcConfig } from './config.ts';

type Context = Pick<PartContext, 'env' | 'signal'>;

/** Questions of a source only read; the zone is that of the values in the log. */
const ASKING = ['SET SESSION TRANSACTION READ ONLY', "SET time_zone = '+00:00'"];

/** A usual connection, for what cannot be asked while the log is read. */
export function connectUsual(config: MysqlCdcConfig, context: Context): Promise<Connection> {
  return connect(config, context, ASKING);
}

export function connect(
  config: MysqlCdcConfig,
  { env, signal }: Context,
  session: readonly string[],
): Promise<Connection> {
  return connectMysql({ url: addressOf(config, env.cwd), session, signal });
}

const MODES = {
  disable: 'disabled',
  require: 'required',
  verify_ca: 'verify_ca',
  verify_full: 'verify_identity',
} as const;

/** `tls` goes before what the address says of encryption. */
export function addressOf({ connection_url: url, tls }: MysqlCdcConfig, cwd: string): string {
  if (tls === undefined) return url;
  const address = new URL(url);
  const names = Array.from(address.searchParams.keys());
  for (const name of names)
    if (/^ssl[-_]?(?:mode|ca)$/i.test(name)) address.searchParams.delete(name);
  address.searchParams.set('ssl-mode', MODES[tls.mode]);
  if (tls.ca_path !== undefined) address.searchParams.set('ssl-ca', resolve(cwd, tls.ca_path));
  return address.href;
}

export type Rows = readonly (readonly SqlValue[])[];

/** Errors of the server become ours; the wait ends with the signal. */
export async function asked<T>(doing: string, work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await untilAborted(work, signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : mysqlError(error, doing);
  }
}

export async function rowsOf(connection: Connection, sql: string): Promise<Rows> {
  return (await askMysql(connection, sql)).rows;
}
