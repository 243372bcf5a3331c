/** The connection of a sink. */
import { Link } from '../../_mssql/connection.ts';
import { isBroken, isTransient, mssqlError, numberOf } from '../../_mssql/errors.ts';
import type { Endpoint } from '../../_mssql/fields.ts';
import { WriteSession } from '../../_sql/write-session.ts';

/**
 * Any error undoes the whole transaction. The level is that of the server by default; what needs
 * more says so in its statement.
 */
const WRITING = `SET XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET IMPLICIT_TRANSACTIONS OFF`;
/** There is no transaction: the server has rolled back by itself. */
const NO_TRANSACTION = 3903;

export function openSession(
  endpoint: Endpoint & { readonly statement_timeout_secs: number },
  signal: AbortSignal,
): WriteSession<Link> {
  return new WriteSession(
    {
      open: (stop) => connect(endpoint, stop),
      error: mssqlError,
      isBroken,
      isTransient,
      isUndone: (error) => numberOf(error) === NO_TRANSACTION,
    },
    signal,
  );
}

async function connect(
  endpoint: Endpoint & { readonly statement_timeout_secs: number },
  signal: AbortSignal,
): Promise<Link> {
  const link = await Link.open(endpoint, { signal, timeoutSecs: endpoint.statement_timeout_secs });
  await link.batch(WRITING);
  return link;
}
