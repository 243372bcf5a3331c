/**
 * The SQL REST API of Snowflake over a socket: statements that are executed, asynchronous ones that
 * are asked for, results in partitions that come packed, several statements in one request, requests
 * that are sent again, and tokens that are verified. Not a whole Snowflake: the statements are those
 * that DuckDB understands when types and functions are renamed.
 */
import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { jwtVerify } from 'jose';
import { startFakeS3, type FakeS3 } from '../s3-server.ts';
import { startHttpServer, type HttpServer, type Reply, type SeenRequest } from '../http-server.ts';
import { statementsIn, waitOf } from './dialect.ts';
import { openEngine, Refusal, type Answer, type Engine } from './engine.ts';

export const ACCOUNT = 'acme-shop';
export const USER = 'loader';
export const TOKEN = 'oauth-token-of-the-fake';
export const DATABASE = 'SHOP';
export const SCHEMA = 'PUBLIC';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const PRIVATE_KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

export interface FakeSnowflake {
  readonly http: HttpServer;
  readonly engine: Engine;
  readonly store: FakeS3;
  /** Texts of the requests that were executed. */
  readonly executed: string[];
  /** Statements that a client cancelled. */
  readonly cancelled: string[];
  /** Rows of a partition. */
  partitionRows: number;
  /** After how long a statement is answered with 202. */
  answerMs: number;
  /** Asked before each request; `losesAnswer`: it is done, and nobody hears of it. */
  fail(fault: (request: SeenRequest) => Reply | 'losesAnswer' | undefined): void;
  close(): Promise<void>;
}

interface Running {
  readonly handle: string;
  readonly done: Promise<Reply>;
  readonly stop: AbortController;
  partitions: readonly (readonly unknown[])[];
  isOver: boolean;
}

const PATH = '/api/v2/statements';

export async function startFakeSnowflake(): Promise<FakeSnowflake> {
  const engine = await openEngine(DATABASE, SCHEMA);
  const store = await startFakeS3();
  engine.store = store;
  const fake = new Fake(engine);
  const http = await startHttpServer((request) => fake.answer(request));
  return Object.assign(fake, {
    http,
    engine,
    store,
    fail: (fault: Fake['fault']) => void (fake.fault = fault),
    async close() {
      await http.close();
      await store.close();
      engine.connection.closeSync();
    },
  });
}

class Fake {
  readonly executed: string[] = [];
  readonly cancelled: string[] = [];
  partitionRows = 7;
  answerMs = 200;
  fault: (request: SeenRequest) => Reply | 'losesAnswer' | undefined = () => undefined;
  readonly #engine: Engine;
  readonly #running = new Map<string, Running>();
  readonly #requests = new Map<string, string>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async answer(request: SeenRequest): Promise<Reply> {
    const fault = this.fault(request);
    if (fault !== undefined && fault !== 'losesAnswer') return fault;
    if (!(await isLogin(request)))
      return refused(401, new Refusal('390144', '08001', 'JWT token is invalid.'));
    const reply = await this.#answer(request);
    return fault === 'losesAnswer' ? { ...reply, breaks: true } : reply;
  }

  async #answer(request: SeenRequest): Promise<Reply> {
    const [, handle = '', action] =
      new RegExp(`^${PATH}(?:/([^/]+))?(?:/(cancel))?$`).exec(request.path) ?? [];
    if (request.method === 'POST' && handle === '') return this.#submit(request);
    const running = this.#running.get(handle);
    if (running === undefined)
      return refused(404, new Refusal('000709', '02000', `Statement ${handle} not found`));
    if (action === 'cancel') {
      this.cancelled.push(handle);
      running.stop.abort();
      return {
        json: { code: '000604', message: 'successfully canceled', statementHandle: handle },
      };
    }
    if (!running.isOver) return pending(handle);
    const partition = Number(request.query.get('partition') ?? 0);
    if (partition === 0) return running.done;
    const data = running.partitions[partition];
    if (data === undefined)
      return refused(422, new Refusal('000709', '22023', 'no such partition'));
    const body = gzipSync(JSON.stringify({ data }));
    return { body, headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' } };
  }

  async #submit(request: SeenRequest): Promise<Reply> {
    const id = request.query.get('requestId') ?? randomUUID();
    const before = request.query.get('retry') === 'true' ? this.#requests.get(id) : undefined;
    const running = this.#running.get(before ?? '') ?? this.#start(request.json() as Body);
    this.#requests.set(id, running.handle);
    if (request.query.get('async') === 'true' && !running.isOver) return pending(running.handle);
    const late = delay(this.answerMs).then(() => pending(running.handle));
    return Promise.race([running.done, late]);
  }

  #start(body: Body): Running {
    const stop = new AbortController();
    const handle = randomUUID();
    const running: Running = {
      handle,
      stop,
      partitions: [],
      isOver: false,
      done: this.#execute(body, stop.signal).then(
        (answer) => {
          running.isOver = true;
          return this.#result(running, answer, body);
        },
        (error: unknown) => {
          running.isOver = true;
          if (!(error instanceof Refusal)) throw error;
          return refused(error.code === '000630' ? 408 : 422, error, handle);
        },
      ),
    };
    this.#running.set(handle, running);
    return running;
  }

  async #execute(body: Body, signal: AbortSignal): Promise<Answer> {
    this.executed.push(body.statement);
    const statements = statementsIn(body.statement);
    const wanted = Number(body.parameters?.['MULTI_STATEMENT_COUNT'] ?? 1);
    if (statements.length !== wanted)
      throw new Refusal(
        '000008',
        '0A000',
        `Actual statement count ${statements.length} did not match the desired statement count ${wanted}.`,
      );
    if (wanted > 1 && body.bindings !== undefined)
      throw new Refusal('002049', '42601', 'Bind variable ? not set.');
    const wait = waitOf(body.statement) * 1000;
    const most = (body.timeout ?? 0) * 1000;
    if (wait > 0) {
      await delay(most > 0 ? Math.min(wait, most) : wait, undefined, { signal }).catch(() => {
        throw new Refusal('000604', '57014', 'SQL execution canceled');
      });
      if (most > 0 && wait > most)
        throw new Refusal(
          '000630',
          '57014',
          'Statement reached its statement or warehouse timeout',
        );
    }
    // One after the other: the engine refuses what waits for a lock in Snowflake.
    const turn = this.#turn.then(() => this.#inSession(body, statements));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #inSession(body: Body, statements: readonly string[]): Promise<Answer> {
    const connection = await this.#engine.connect(body.database, body.schema);
    const values = Object.values(body.bindings ?? {}).map(({ type, value }) =>
      value === null
        ? null
        : type === 'BOOLEAN'
          ? value === 'true'
          : type === 'FIXED'
            ? BigInt(value)
            : type === 'REAL'
              ? Number(value)
              : value,
    );
    let isOpen = false;
    try {
      let last: Answer = { rowType: [], rows: [] };
      for (const statement of statements) {
        try {
          last = await this.#engine.run(connection, statement, values);
        } catch (error) {
          if (statements.length === 1 || !(error instanceof Refusal)) throw error;
          const where = `Uncaught Execution of multiple statements failed on statement "${statement.slice(0, 40)}..." (at line 1, position 0).`;
          throw new Refusal(
            '100132',
            'P0000',
            `JavaScript execution error: ${where}\n${error.message} in SYSTEM$MULTISTMT at '    throw' position 4`,
          );
        }
        if (/^BEGIN\b/i.test(statement)) isOpen = true;
        if (/^COMMIT\b/i.test(statement)) isOpen = false;
      }
      return statements.length === 1
        ? last
        : { rowType: [], rows: [['Multiple statements executed successfully.']] };
    } finally {
      if (isOpen) await connection.run('ROLLBACK').catch(() => {});
      connection.closeSync();
    }
  }

  #result(running: Running, { rowType, rows }: Answer, { parameters }: Body): Reply {
    const most = Number(parameters?.['rows_per_resultset'] ?? Infinity);
    const all = rows.slice(0, most);
    const partitions: (readonly unknown[])[] = [];
    for (let from = 0; from < all.length; from += this.partitionRows)
      partitions.push(all.slice(from, from + this.partitionRows));
    running.partitions = partitions;
    return {
      json: {
        code: '090001',
        message: 'Statement executed successfully.',
        sqlState: '00000',
        statementHandle: running.handle,
        resultSetMetaData: {
          numRows: all.length,
          format: 'jsonv2',
          rowType,
          partitionInfo: (partitions.length === 0 ? [[]] : partitions).map(({ length }) => ({
            rowCount: length,
          })),
        },
        data: partitions[0] ?? [],
      },
    };
  }
}

interface Body {
  readonly statement: string;
  readonly timeout?: number;
  readonly database?: string;
  readonly schema?: string;
  readonly bindings?: Readonly<
    Record<string, { readonly type: string; readonly value: string | null }>
  >;
  readonly parameters?: Readonly<Record<string, string>>;
}

function pending(handle: string): Reply {
  return {
    status: 202,
    json: {
      code: '333334',
      message: 'Asynchronous execution in progress.',
      statementHandle: handle,
      statementStatusUrl: `${PATH}/${handle}`,
    },
  };
}

function refused(status: number, { code, state, message }: Refusal, handle?: string): Reply {
  return { status, json: { code, message, sqlState: state, statementHandle: handle } };
}

const FINGERPRINT = createHash('sha256')
  .update(publicKey.export({ type: 'spki', format: 'der' }))
  .digest('base64');

async function isLogin({ headers }: SeenRequest): Promise<boolean> {
  const token = headers['authorization']?.replace(/^Bearer /, '') ?? '';
  if (headers['x-snowflake-authorization-token-type'] === 'OAUTH') return token === TOKEN;
  const subject = `${ACCOUNT.toUpperCase()}.${USER.toUpperCase()}`;
  try {
    const { payload } = await jwtVerify(token, publicKey, {
      algorithms: ['RS256'],
      subject,
      issuer: `${subject}.SHA256:${FINGERPRINT}`,
    });
    const { exp = Infinity, iat = 0 } = payload;
    return exp - iat <= 3600;
  } catch {
    return false;
  }
}
