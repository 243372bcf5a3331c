/**
 * The APIs of Databricks over a socket: statements that are executed, asked for and cancelled, results
 * in chunks, inline or behind links, warehouses, and files of volumes. Not a whole Databricks: the
 * statements are those that DuckDB understands when types and functions are renamed.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { startFakeS3, type FakeS3 } from '../s3-server.ts';
import { startHttpServer, type HttpServer, type Reply, type SeenRequest } from '../http-server.ts';
import { quoted, translated, waitOf } from './dialect.ts';
import { arrowStream } from './arrow-stream.ts';
import { Engine, Refusal, type Answer } from './engine.ts';

export const TOKEN = 'dapi-token-of-the-fake';
export const WAREHOUSE = 'abcdef0123456789';
export const CATALOG = 'lake';
export const SCHEMA = 'sales';

const STATEMENTS = '/api/2.0/sql/statements';
const FILES = '/api/2.0/fs/files';

interface Body {
  readonly statement: string;
  readonly warehouse_id: string;
  readonly catalog?: string;
  readonly schema?: string;
  readonly parameters?: readonly { name: string; value?: string; type?: string }[];
  readonly row_limit?: number;
  readonly disposition: 'INLINE' | 'EXTERNAL_LINKS';
  readonly format: 'JSON_ARRAY' | 'ARROW_STREAM';
  readonly wait_timeout: string;
}

interface Running {
  readonly id: string;
  readonly body: Body;
  readonly stop: AbortController;
  readonly done: Promise<void>;
  state: 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';
  answer: Answer | undefined;
  refusal: Refusal | undefined;
}

export type Fault = Reply | 'losesAnswer' | undefined;

export async function startFakeDatabricks(): Promise<FakeDatabricks> {
  const engine = await Engine.start(CATALOG, SCHEMA);
  const store = await startFakeS3();
  const fake = new FakeDatabricks(engine, store);
  fake.http = await startHttpServer((request) => fake.respond(request));
  return fake;
}

export class FakeDatabricks {
  readonly engine: Engine;
  readonly store: FakeS3;
  /** Files of volumes, by their paths. */
  readonly files = new Map<string, Uint8Array>();
  /** Bodies of the statements that were begun. */
  readonly begun: Body[] = [];
  /** Statements that a client cancelled. */
  readonly cancelled: string[] = [];
  http!: HttpServer;
  chunkRows = 7;
  /** Bytes that an inline result may have. */
  inlineBytes = 25 * 1024 * 1024;
  /** After how long a first answer comes at the latest; as the request says when absent. */
  heldMs: number | undefined;
  /** How often each link may be used before it is refused as too old. */
  oldLinks = 0;
  /** Asked before each request; `losesAnswer`: it is done, and nobody hears of it. */
  fault: (request: SeenRequest) => Fault = () => undefined;
  readonly #running = new Map<string, Running>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, store: FakeS3) {
    this.engine = engine;
    this.store = store;
    engine.object = (location, file) => {
      if (location.startsWith('/Volumes/'))
        return this.files.get(`${location.replace(/\/$/, '')}/${file}`);
      const [, bucket = '', folder = ''] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(location) ?? [];
      const prefix = folder === '' ? '' : `${folder.replace(/\/+$/, '')}/`;
      return store.buckets.get(bucket)?.get(prefix + file)?.body;
    };
  }

  get url(): string {
    return this.http.url;
  }

  /** What a config needs to reach it. */
  connection() {
    return {
      workspace_url: this.url,
      warehouse_id: WAREHOUSE,
      auth: { type: 'pat', config: { token: TOKEN } },
      catalog: CATALOG,
      schema: SCHEMA,
    } as const;
  }

  async close(): Promise<void> {
    for (const { stop } of this.#running.values()) stop.abort();
    await this.http.close();
    await this.store.close();
    await this.#turn.catch(() => {});
    this.engine.close();
  }

  async respond(request: SeenRequest): Promise<Reply> {
    const fault = this.fault(request);
    if (fault !== undefined && fault !== 'losesAnswer') return fault;
    const reply = await this.#reply(request);
    return fault === 'losesAnswer' ? { ...reply, breaks: true } : reply;
  }

  async #reply(request: SeenRequest): Promise<Reply> {
    const { path, headers } = request;
    if (path.startsWith('/results/')) return this.#linked(request);
    if (headers['authorization'] !== `Bearer ${TOKEN}`)
      return refused(
        401,
        'UNAUTHENTICATED',
        'Credential was not sent or was of an unsupported type',
      );
    if (path.startsWith(FILES)) return this.#file(request);
    const [, warehouse] = /^\/api\/2\.0\/sql\/warehouses\/([^/]+)$/.exec(path) ?? [];
    if (warehouse === WAREHOUSE) return { json: { id: WAREHOUSE, state: 'RUNNING' } };
    if (warehouse !== undefined)
      return refused(404, 'RESOURCE_DOES_NOT_EXIST', `SQL warehouse ${warehouse} does not exist`);
    const [, id, action, index] =
      new RegExp(`^${STATEMENTS}(?:/([^/]+))?(?:/(cancel|result/chunks/(\\d+)))?$`).exec(path) ??
      [];
    if (request.method === 'POST' && id === undefined) return this.#submit(request);
    const running = this.#running.get(id ?? '');
    if (running === undefined)
      return refused(404, 'RESOURCE_DOES_NOT_EXIST', `The statement ${id} was not found.`);
    if (action === 'cancel') {
      this.cancelled.push(running.id);
      if (running.state === 'RUNNING') running.state = 'CANCELED';
      running.stop.abort();
      return { json: {} };
    }
    return {
      json: index === undefined ? this.#told(running) : this.#chunk(running, Number(index)),
    };
  }

  async #submit(request: SeenRequest): Promise<Reply> {
    const body = request.json() as Body;
    if (body.warehouse_id !== WAREHOUSE)
      return refused(
        404,
        'RESOURCE_DOES_NOT_EXIST',
        `${body.warehouse_id} is not a valid endpoint id.`,
      );
    if (!/^(?:0|[5-9]|[1-4]\d|50)s$/.test(body.wait_timeout))
      return refused(400, 'INVALID_PARAMETER_VALUE', 'wait_timeout must be 0s or 5s to 50s');
    if (Buffer.byteLength(body.statement) > 16 * 1024 * 1024)
      return refused(400, 'INVALID_PARAMETER_VALUE', 'the statement is longer than 16 MiB');
    const running = this.#begin(body);
    const heldMs = Math.min(Number.parseInt(body.wait_timeout, 10) * 1000, this.heldMs ?? Infinity);
    const waited = new AbortController();
    const late = delay(heldMs, undefined, {
      signal: AbortSignal.any([waited.signal, request.gone, running.stop.signal]),
    }).catch(() => {});
    await Promise.race(heldMs === 0 ? [late] : [running.done, late]);
    waited.abort();
    return { json: this.#told(running) };
  }

  #begin(body: Body): Running {
    this.begun.push(body);
    const stop = new AbortController();
    const running: Running = {
      id: randomUUID(),
      body,
      stop,
      state: 'RUNNING',
      answer: undefined,
      refusal: undefined,
      done: Promise.resolve().then(async () => {
        try {
          running.answer = await this.#execute(body, stop.signal);
          if (running.state === 'RUNNING') running.state = 'SUCCEEDED';
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          running.refusal = error;
          if (running.state === 'RUNNING') running.state = 'FAILED';
        }
      }),
    };
    this.#running.set(running.id, running);
    return running;
  }

  async #execute(body: Body, signal: AbortSignal): Promise<Answer> {
    const wait = waitOf(body.statement);
    if (wait > 0)
      await delay(wait, undefined, { signal }).catch(() => {
        throw new Refusal('57014', 'the statement was cancelled', 'CANCELLED');
      });
    const parameters = new Map(
      (body.parameters ?? []).map(({ name, value, type = 'STRING' }) => [
        name,
        valueOf(value, type),
      ]),
    );
    const { catalog = CATALOG, schema = 'main' } = body;
    // One after the other: the engine refuses what waits for a lock in Databricks.
    const turn = this.#turn.then(() =>
      this.engine.run(body.statement, { catalog, schema, parameters }),
    );
    this.#turn = turn.catch(() => {});
    const answer = await turn;
    const size = answer.rows.reduce((sum, row) => sum + row.join('').length, 0);
    if (body.disposition === 'INLINE' && body.format !== 'JSON_ARRAY')
      throw new Refusal('22023', 'The format ARROW_STREAM needs the disposition EXTERNAL_LINKS.');
    if (body.disposition === 'INLINE' && size > this.inlineBytes)
      throw new Refusal('XX000', `Inline byte limit exceeded. Result has ${size} bytes.`);
    return body.row_limit === undefined
      ? answer
      : {
          ...answer,
          rows: answer.rows.slice(0, body.row_limit),
          values: answer.values?.slice(0, body.row_limit) ?? [],
        };
  }

  #told(running: Running): unknown {
    const { id, state, answer, refusal, body } = running;
    if (state === 'FAILED')
      return {
        statement_id: id,
        status: {
          state,
          error: { error_code: refusal?.code, message: refusal?.message },
          sql_state: refusal?.state,
        },
      };
    if (state !== 'SUCCEEDED' || answer === undefined)
      return { statement_id: id, status: { state } };
    const count = Math.max(1, Math.ceil(answer.rows.length / this.chunkRows));
    return {
      statement_id: id,
      status: { state },
      manifest: {
        format: body.format,
        schema: {
          column_count: answer.columns.length,
          columns: answer.columns.map((column, position) => ({ ...column, position })),
        },
        total_chunk_count: count,
        total_row_count: answer.rows.length,
        truncated: body.row_limit !== undefined && answer.rows.length === body.row_limit,
      },
      result: this.#chunk(running, 0),
    };
  }

  #chunk({ id, answer, body }: Running, index: number): Record<string, unknown> {
    const rows = answer?.rows ?? [];
    const from = index * this.chunkRows;
    const next = from + this.chunkRows < rows.length ? index + 1 : undefined;
    const about = {
      chunk_index: index,
      row_offset: from,
      ...(next === undefined
        ? {}
        : {
            next_chunk_index: next,
            next_chunk_internal_link: `${STATEMENTS}/${id}/result/chunks/${next}`,
          }),
    };
    if (body.disposition === 'INLINE')
      return { ...about, data_array: rows.slice(from, from + this.chunkRows) };
    const link = `${this.url}/results/${id}/${index}?signature=${SIGNATURE}`;
    return {
      external_links: [
        { ...about, external_link: link, http_headers: { 'x-fake-key': 'of-the-store' } },
      ],
    };
  }

  #linked({ path, query, headers }: SeenRequest): Reply {
    const [, , id = '', index = ''] = path.split('/');
    if (headers['authorization'] !== undefined)
      return { status: 400, body: 'a link takes no other login' };
    if (query.get('signature') !== SIGNATURE || headers['x-fake-key'] !== 'of-the-store')
      return { status: 403, body: 'AccessDenied' };
    if (this.oldLinks > 0) {
      this.oldLinks -= 1;
      return { status: 403, body: 'Request has expired' };
    }
    const { answer, body } = this.#running.get(id) ?? {};
    const { columns = [], rows = [], values = rows } = answer ?? {};
    const from = Number(index) * this.chunkRows;
    const to = from + this.chunkRows;
    return body?.format === 'ARROW_STREAM'
      ? { body: arrowStream(columns, values.slice(from, to)) }
      : { json: rows.slice(from, to) };
  }

  #file({ path, method, body }: SeenRequest): Reply {
    const name = decodeURIComponent(path.slice(FILES.length));
    if (!name.startsWith('/Volumes/lake/sales/landing/'))
      return refused(404, 'NOT_FOUND', `the volume of ${name} does not exist`);
    if (method === 'PUT') this.files.set(name, Buffer.from(body));
    else this.files.delete(name);
    return { status: 204 };
  }
}

/** A null of a text is taken for one of each type. */
function valueOf(value: string | undefined, type: string): string {
  if (value === undefined && type === 'STRING') return 'NULL';
  return `CAST(${value === undefined ? 'NULL' : quoted(value)} AS ${translated(type)})`;
}

export const SIGNATURE = 'signature-of-a-link-which-is-a-login';

function refused(status: number, code: string, message: string): Reply {
  return { status, json: { error_code: code, message } };
}
