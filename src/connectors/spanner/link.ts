/** A database of Spanner: its session, queries, transactions and changes of its schema. */
import type { PartContext, RetryPolicy } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { backoffMs, type BackoffPolicy } from '../../lib/time/backoff.ts';
import { GoogleError } from '../_google/errors.ts';
import { GoogleService, type Method } from '../_google/service.ts';
import { GRPC_STATUS } from '../_grpc/status.ts';
import { runRequests } from '../_http/run-requests.ts';
import {
  BEGIN_TRANSACTION,
  COMMIT,
  CREATE_SESSION,
  DELETE_SESSION,
  EXECUTE_SQL,
  GET_OPERATION,
  ROLLBACK,
  UPDATE_DDL,
  type Mutation,
  type Operation,
  type ResultSet,
  type Selector,
} from './api.ts';
import type { Connection } from './config.ts';
import type { Query } from './statement.ts';

export type LinkContext = Pick<PartContext, 'env' | 'signal'> & { readonly retry?: RetryPolicy };

const REQUEST_MS = 600_000;
/** For what is tidied up at the end. */
const CLOSE_MS = 1000;
/** So long a transaction is begun again, while others are in its way. */
const TRANSACTION_MS = 300_000;
const AGAIN: BackoffPolicy = { backoff: 'exponential', baseMs: 10, maxMs: 5000, jitter: true };
const POLL: BackoffPolicy = { backoff: 'exponential', baseMs: 50, maxMs: 5000, jitter: true };

const HINTS = {
  [GRPC_STATUS.notFound]: 'check `project_id`, `instance` and `database`',
  [GRPC_STATUS.permissionDenied]:
    'grant the account the role Cloud Spanner Database User (`roles/spanner.databaseUser`) on the database',
  [GRPC_STATUS.unauthenticated]: 'check `auth`: Spanner does not know who asks',
};

/** An open transaction. */
export interface Transaction {
  /** Rows that are read are not changed by others before the commit. */
  rows(query: Query): Promise<ResultSet['rows']>;
  /** The number of rows that a statement changed. */
  change(query: Query): Promise<number>;
}

/** What is newest. */
const STRONG: Selector = { single_use: { read_only: { strong: true } } };

export class SpannerLink {
  readonly context: LinkContext;
  readonly service: GoogleService;
  readonly #database: string;
  #session: Promise<string> | undefined;

  constructor(config: Connection, context: LinkContext) {
    const { project_id: project, instance, database } = config;
    this.context = context;
    this.#database = `projects/${project}/instances/${instance}/databases/${database}`;
    const settings = { host: 'spanner.googleapis.com', scope: 'cloud-platform', hints: HINTS };
    this.service = new GoogleService({ ...config, ...settings }, context);
  }

  /** Its name. It is made when it is first asked for. */
  session(): Promise<string> {
    if (this.#session !== undefined) return this.#session;
    const made = this.#ask(
      CREATE_SESSION,
      { database: this.#database },
      `the database ${this.#database} cannot be reached`,
    ).then(({ name }) => name);
    made.catch(() => this.forgetSession());
    this.#session = made;
    return made;
  }

  /** The next work has another one: Spanner removes those that are not used for an hour. */
  forgetSession(): void {
    this.#session = undefined;
  }

  /** Rows of a small result. */
  async rows(doing: string, query: Query): Promise<ResultSet['rows']> {
    return this.withSession(
      async (session) => (await this.#execute(session, STRONG, doing, query)).rows,
    );
  }

  /** Once more with a new session, where Spanner knows it no more. */
  async withSession<T>(work: (session: string) => Promise<T>): Promise<T> {
    try {
      return await work(await this.session());
    } catch (error) {
      if (!isLostSession(error)) throw error;
      this.forgetSession();
      return work(await this.session());
    }
  }

  /**
   * Commits what `work` gives together with what it changes. Where another transaction is in the way
   * all of it is done again.
   */
  async transaction(
    doing: string,
    work: (transaction: Transaction) => Promise<readonly Mutation[]>,
  ): Promise<void> {
    const { env, signal } = this.context;
    const until = env.clock.elapsedMs() + TRANSACTION_MS;
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.withSession((session) => this.#attempt(session, doing, work));
        return;
      } catch (error) {
        if (!isAborted(error) || env.clock.elapsedMs() > until) throw error;
        const wait = backoffMs(AGAIN, attempt);
        await env.clock.sleep(error.retryAfterMs ?? wait, signal);
        signal.throwIfAborted();
      }
    }
  }

  async #attempt(
    session: string,
    doing: string,
    work: (transaction: Transaction) => Promise<readonly Mutation[]>,
  ): Promise<void> {
    const options = { read_write: {} };
    const { id } = await this.#ask(BEGIN_TRANSACTION, { session, options }, doing);
    let seqno = 0n;
    try {
      const mutations = await work({
        rows: async (query) => (await this.#execute(session, { id }, doing, query)).rows,
        change: async (query) => {
          seqno += 1n;
          const { stats } = await this.#execute(session, { id }, doing, query, seqno);
          return Number(stats?.row_count_exact ?? 0n);
        },
      });
      // The same transaction is committed once, however often that is asked for.
      await this.#ask(COMMIT, { session, transaction_id: id, mutations }, doing);
    } catch (error) {
      await this.#giveUp(session, id);
      throw error;
    }
  }

  /** So that nobody waits for its locks. */
  async #giveUp(session: string, id: Uint8Array): Promise<void> {
    const signal = AbortSignal.timeout(CLOSE_MS);
    const call = { doing: 'giving up', about: about(session), timeoutMs: CLOSE_MS, signal };
    await this.service.ask(ROLLBACK, { session, transaction_id: id }, call).catch(() => {});
  }

  /** Waits until the change is made. */
  async changeSchema(
    doing: string,
    statements: readonly string[],
    timeoutSecs: number,
  ): Promise<void> {
    const { env, signal } = this.context;
    const until = env.clock.elapsedMs() + timeoutSecs * 1000;
    const request = { database: this.#database, statements };
    const isLate = (): boolean => env.clock.elapsedMs() > until;
    let operation: Operation | undefined;
    for (let attempt = 0; ; attempt += 1) {
      try {
        operation =
          operation === undefined
            ? await this.#ask(UPDATE_DDL, request, doing)
            : await this.#ask(GET_OPERATION, { name: operation.name }, doing);
      } catch (error) {
        // An emulator does not change a schema beside a transaction or another change.
        if (!isBusy(error) || isLate()) throw error;
      }
      const { error } = operation ?? {};
      if (error !== undefined && error.code !== 0)
        throw new ConnectorError('refused', `${doing}: ${env.redactor.text(error.message)}`);
      if (operation?.done === true) return;
      if (isLate())
        throw new ConnectorError(
          'timeout',
          `${doing}: it has not ended in ${timeoutSecs} seconds`,
          {
            hint: 'Spanner goes on with it: wait until the column or table is there and run again, or raise `ddl_timeout_secs`',
          },
        );
      await env.clock.sleep(backoffMs(POLL, attempt), signal);
      signal.throwIfAborted();
    }
  }

  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined);
    if (session !== undefined) {
      const signal = AbortSignal.timeout(CLOSE_MS);
      const call = { doing: 'closing', about: about(session), timeoutMs: CLOSE_MS, signal };
      await this.service.ask(DELETE_SESSION, { name: session }, call).catch(() => {});
    }
    this.forgetSession();
    await this.service.close();
  }

  // oxlint-disable-next-line max-params
  async #execute(
    session: string,
    transaction: Selector,
    doing: string,
    { sql, params = {}, types = {} }: Query,
    seqno?: bigint,
  ): Promise<ResultSet> {
    const request = { session, transaction, sql, params, param_types: types, seqno };
    return this.#ask(EXECUTE_SQL, request, doing);
  }

  /** Repeated as the document says: each call is one that may come twice. */
  async #ask<Q extends object, A extends object>(
    method: Method<Q, A>,
    request: Q,
    doing: string,
  ): Promise<A> {
    const run = runRequests(this.context);
    const call = { doing, about: this.#about(request), timeoutMs: REQUEST_MS };
    const told = await run(doing, this.context.signal, async () => {
      try {
        return { answer: await this.service.ask(method, request, call) };
      } catch (failed) {
        // The whole transaction is repeated, and not this step of it.
        if (isAborted(failed)) return { failed };
        throw failed;
      }
    });
    if ('failed' in told) throw told.failed;
    return told.answer;
  }

  #about(request: object): string {
    return 'session' in request
      ? about(String(request.session))
      : `database=${encodeURIComponent(this.#database)}`;
  }
}

export const about = (session: string): string => `session=${encodeURIComponent(session)}`;

function statusOf(error: unknown): number | undefined {
  return error instanceof GoogleError ? error.grpcStatus : undefined;
}

function isAborted(error: unknown): error is GoogleError {
  return statusOf(error) === GRPC_STATUS.aborted;
}

export function isLostSession(error: unknown): boolean {
  return (
    error instanceof GoogleError &&
    error.grpcStatus === GRPC_STATUS.notFound &&
    /session not found/i.test(error.message)
  );
}

function isBusy(error: unknown): boolean {
  return (
    error instanceof GoogleError &&
    error.grpcStatus === GRPC_STATUS.failedPrecondition &&
    /concurrent schema change|read-write transaction/i.test(error.message)
  );
}

/** Rows of data are at fault, and not the request. */
export function isAboutData(error: unknown): boolean {
  const status = statusOf(error);
  return (
    status === GRPC_STATUS.alreadyExists ||
    status === GRPC_STATUS.failedPrecondition ||
    status === GRPC_STATUS.outOfRange
  );
}
