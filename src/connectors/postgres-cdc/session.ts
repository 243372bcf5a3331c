/** Connections that may read the log: to the database of the publication, with the right to replicate. */
import { readFile } from 'node:fs/promises';
import type { Client, ClientConfig } from 'pg';
import { resolve } from 'node:path';
import type { PartContext } from '../../kit/context.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { codeOf, connectPostgres, postgresError } from '../../lib/sql/postgres.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { withinSecs } from '../_sql/within-secs.ts';
import type { PostgresCdcConfig } from './config.ts';
import { permittedFile } from '../../lib/files/file-access.ts';

/** Values are read in these forms, whatever the server is set to. */
const FORMS = `SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'iso_8601';
  SET bytea_output = 'hex'; SET extra_float_digits = 1; SET statement_timeout = 0`;

/** A server that says nothing for so long is taken for silent. */
export const ANSWER_SECS = 60;
export const SILENT = 'see whether the server and the network to it work';

type Context = Pick<PartContext, 'env' | 'signal'>;

/** A usual connection, for what cannot be asked while the log is read. */
export async function connectUsual(config: PostgresCdcConfig, context: Context): Promise<Client> {
  const { signal } = context;
  const client = await clientSettings(config, context);
  return connectPostgres({ url: urlOf(config), signal, client });
}

/**
 * Takes the commands of replication. It must not be asked for tables: what it then remembers of them
 * it takes for their state at any time in the log.
 */
export async function connectToLog(config: PostgresCdcConfig, context: Context): Promise<Client> {
  const { signal } = context;
  const settings = { ...(await clientSettings(config, context)), replication: 'database' };
  const client = await connectPostgres({ url: urlOf(config), signal, client: settings }).catch(
    (error: unknown) => {
      throw mayNotReplicate(error);
    },
  );
  try {
    await untilAborted(withinSecs(client.query(FORMS), ANSWER_SECS, undefined, SILENT), signal);
    return client;
  } catch (error) {
    void client.end().catch(() => {});
    throw signal.aborted ? error : postgresError(error, 'the session cannot be set up');
  }
}

const NO_RIGHT = '42501';

function mayNotReplicate(error: unknown): unknown {
  if (!(error instanceof ConnectorError) || codeOf(error.cause) !== NO_RIGHT) return error;
  return new ConnectorError('refused', `the user may not replicate: ${messageOf(error)}`, {
    cause: error,
    hint: 'ALTER ROLE "…" REPLICATION',
  });
}

async function clientSettings(
  { tls, tcp_keepalive: seconds }: PostgresCdcConfig,
  { env }: Context,
): Promise<ClientConfig> {
  const keep =
    seconds === 0 ? { keepAlive: false } : { keepAliveInitialDelayMillis: seconds * 1000 };
  if (tls === undefined) return keep;
  const { mode, ca_path: file } = tls;
  if (mode === 'disable') return { ...keep, ssl: false };
  if (mode === 'require') return { ...keep, ssl: { rejectUnauthorized: false } };
  const ca = file === undefined ? {} : { ca: await readAuthority(resolve(env.cwd, file)) };
  const anyHost = mode === 'verify_ca' ? { checkServerIdentity: () => undefined } : {};
  return { ...keep, ssl: { ...ca, ...anyHost, rejectUnauthorized: true } };
}

async function readAuthority(file: string): Promise<string> {
  try {
    return await readFile(permittedFile(file), 'utf8');
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError('missing', `\`ca_path\` cannot be read: ${messageOf(error)}`, {
      cause: error,
      hint: 'name a PEM file that this user may read',
    });
  }
}

/** `tls` goes before what the address says of encryption. */
function urlOf({ connection_url: url, tls }: PostgresCdcConfig): string {
  if (tls === undefined) return url;
  const address = new URL(url);
  const names = Array.from(address.searchParams.keys());
  for (const name of names)
    if (/^(?:ssl|uselibpqcompat)/.test(name)) address.searchParams.delete(name);
  return address.href;
}

/** Errors of the server become ours; the wait ends with the signal. */
export async function asked<T>(doing: string, work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await untilAborted(work, signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : postgresError(error, doing);
  }
}
