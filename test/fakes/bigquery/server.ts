/**
 * BigQuery as far as the connector speaks to it: its REST API over a socket, with logins, jobs that
 * are pending at first, pages of results, streamed rows, loads, and the errors of the vendor. What is
 * asked is run by an embedded engine.
 */
import { createVerify, generateKeyPairSync } from 'node:crypto';
import { startHttpServer, type HttpServer, type Reply, type SeenRequest } from '../http-server.ts';
import { Engine, NOTHING, type Outcome, type Parameters, type Table } from './engine.ts';
import { BigqueryFault } from './fault.ts';
import { FakeReadService, type Stored } from './read-service.ts';
import { faultsOf, type RowFault } from './rows.ts';
import { apiField } from './types.ts';

type Json = Record<string, unknown>;

interface Job {
  readonly id: string;
  readonly done: Promise<void>;
  readonly isEndless: boolean;
  state: 'RUNNING' | 'DONE';
  outcome?: Outcome;
  fault?: BigqueryFault;
  /** Answers that still say that it is pending. */
  pending: number;
  cancel(): void;
}

/** What is done in place of an answer, or after the work is done. */
export interface Fault {
  readonly fault?: BigqueryFault;
  readonly headers?: Readonly<Record<string, string>>;
  /** What was asked is done, and nobody hears of it. */
  readonly losesAnswer?: true;
  readonly hangs?: true;
}

export interface Asked {
  readonly method: string;
  /** Behind `/projects/PROJECT/`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json;
}

const NEVER = /never ends/;
/** Of the tables that hold results. */
const RESULTS = '_results';
const ANSWER_MS = 30;
export const PROJECT = 'the-project';
const REQUEST_BYTES = 10_000_000;

export class FakeBigquery {
  readonly engine: Engine;
  readonly asked: Asked[] = [];
  readonly cancelled: string[] = [];
  /** How many answers say of each job that it is pending. */
  pending = 0;
  /** Requests to stream rows that do not know a table or column made since. */
  unknowing = 0;
  objects: (bucket: string, key: string) => Uint8Array | undefined = () => undefined;
  fault: (asked: Asked) => Fault | undefined = () => undefined;
  /** What goes out instead of an answer. */
  altered: (asked: Asked, answer: unknown) => unknown = (_asked, answer) => answer;
  /** The Storage Read API. */
  readonly reading = new FakeReadService((dataset, table, restriction) =>
    this.#stored(dataset, table, restriction),
  );
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  readonly #jobs = new Map<string, Job>();
  readonly #requests = new Map<string, Job>();
  readonly #inserted = new Set<string>();
  #server: HttpServer | undefined;
  #made = 0;

  private constructor(engine: Engine) {
    this.engine = engine;
  }

  static async start(): Promise<FakeBigquery> {
    const fake = new FakeBigquery(await Engine.start());
    await fake.reading.start();
    fake.#server = await startHttpServer((request) => fake.#answer(request));
    return fake;
  }

  get url(): string {
    return this.#server?.url ?? '';
  }

  /** The key of an account that is known here, or of one that is not. */
  key(isKnown = true): Json {
    const { privateKey } = isKnown
      ? this.#keys
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
    return {
      type: 'service_account',
      client_email: 'loader@the-project.iam.gserviceaccount.com',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      private_key_id: 'key-1',
    };
  }

  config(): { project_id: string; auth: never; api_endpoint: string } {
    const auth = { type: 'service_account_key', config: { json: JSON.stringify(this.key()) } };
    return { project_id: PROJECT, auth: auth as never, api_endpoint: this.url };
  }

  /** For rows that are read by the Storage Read API. */
  readingConfig(more: object = {}) {
    const reading = { read_api: true, read_api_endpoint: this.reading.url };
    return { ...this.config(), ...reading, ...more };
  }

  async close(): Promise<void> {
    this.reading.close();
    await this.#server?.close();
    this.engine.close();
  }

  async #answer(request: SeenRequest): Promise<Reply> {
    const [, , version, , project, ...rest] = request.path.split('/').map(decodeURIComponent);
    const asked: Asked = {
      method: request.method,
      path: rest.join('/'),
      query: request.query,
      body: (request.body === '' ? {} : request.json()) as Json,
    };
    this.asked.push(asked);
    try {
      if (version !== 'v2' || project !== PROJECT)
        throw new BigqueryFault(404, 'notFound', `Not found: Project ${project}`);
      this.#authorize(request.headers['authorization'] ?? '');
      if (Buffer.byteLength(request.body) > REQUEST_BYTES)
        throw new BigqueryFault(413, 'uploadTooLarge', 'Request Entity Too Large');
      const planned = this.fault(asked);
      if (planned?.hangs === true) return { hangs: true };
      if (planned?.fault !== undefined)
        return {
          status: planned.fault.status,
          json: planned.fault.body,
          headers: planned.headers ?? {},
        };
      const json = this.altered(asked, await this.#route(asked));
      return planned?.losesAnswer === true ? { breaks: true, json } : { json };
    } catch (error) {
      if (error instanceof BigqueryFault) return { status: error.status, json: error.body };
      throw error;
    }
  }

  /** The account signs its own token, for what it wants to do. */
  #authorize(header: string): void {
    const [head = '', claims = '', signature = ''] = header.replace(/^Bearer /, '').split('.');
    const isSigned =
      signature !== '' &&
      createVerify('RSA-SHA256')
        .update(`${head}.${claims}`)
        .verify(this.#keys.publicKey, signature, 'base64url');
    const told = isSigned
      ? (JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as Json)
      : {};
    if (told['scope'] === 'https://www.googleapis.com/auth/bigquery') return;
    throw new BigqueryFault(401, 'authError', 'Request had invalid authentication credentials.');
  }

  async #route(asked: Asked): Promise<unknown> {
    const { method, path, body } = asked;
    const [first, second, third, fourth, fifth] = path.split('/');
    const route = `${method} ${first}${third === undefined ? '' : `/${third}`}${fifth === undefined ? '' : `/${fifth}`}`;
    switch (route) {
      case 'POST queries':
        return this.#query(body);
      case 'GET queries':
        return second === undefined ? undefined : this.#results(asked, this.#job(second));
      case 'POST jobs':
        return second === undefined ? this.#load(body) : undefined;
      case 'POST jobs/cancel':
        this.cancelled.push(second ?? '');
        this.#job(second ?? '').cancel();
        return {};
      case 'GET jobs':
        return this.#jobState(this.#job(second ?? ''));
      case 'GET datasets':
        return second === undefined ? this.#listDatasets(asked) : this.#dataset(second);
      case 'GET datasets/tables':
        return fourth === undefined
          ? this.#listTables(second ?? '', asked)
          : this.#tableInfo(this.#table(second, fourth));
      case 'DELETE datasets/tables':
        return this.engine.drop(this.#table(second, fourth));
      case 'POST datasets/tables/insertAll':
        return this.#insertAll(this.#table(second, fourth), body);
      default:
        throw new BigqueryFault(404, 'notFound', `no such method: ${route}`);
    }
  }

  #table(dataset = '', name = ''): Table {
    const found = this.engine.table(dataset, name);
    if (found !== undefined) return found;
    throw new BigqueryFault(404, 'notFound', `Not found: Table ${PROJECT}:${dataset}.${name}`);
  }

  #dataset(name: string): Json {
    if (!this.engine.datasets.has(name))
      throw new BigqueryFault(404, 'notFound', `Not found: Dataset ${PROJECT}:${name}`);
    return { datasetReference: { datasetId: name } };
  }

  /** Rows of a table, or those of the job whose result it holds. */
  async #stored(dataset: string, name: string, restriction: string): Promise<Stored> {
    if (dataset === RESULTS) {
      const { outcome } = this.#job(name);
      if (outcome !== undefined) return outcome;
    }
    const table = this.#table(dataset, name);
    const where = restriction === '' ? '' : ` WHERE (${restriction})`;
    const all = `SELECT * FROM \`${PROJECT}.${dataset}.${name}\`${where}`;
    return { fields: table.fields, values: (await this.engine.run(all)).values };
  }

  #job(id: string): Job {
    const job = this.#jobs.get(id);
    if (job !== undefined) return job;
    throw new BigqueryFault(404, 'notFound', `Not found: Job ${PROJECT}:US.${id}`);
  }

  #begin(id: string, work: () => Promise<Outcome>, isEndless = false): Job {
    const cancelled = Promise.withResolvers<Outcome>();
    const job: Job = {
      id,
      state: 'RUNNING',
      pending: this.pending,
      isEndless,
      done: Promise.resolve(),
      cancel: () => {
        if (job.state === 'DONE') return;
        cancelled.reject(
          new BigqueryFault(
            400,
            'stopped',
            'Job execution was cancelled: User requested cancellation',
          ),
        );
      },
    };
    const running = isEndless ? cancelled.promise : Promise.race([work(), cancelled.promise]);
    cancelled.promise.catch(() => {});
    const done = running.then(
      (outcome) => void (job.outcome = outcome),
      (error: unknown) => {
        if (!(error instanceof BigqueryFault)) throw error;
        job.fault = error;
      },
    );
    Object.assign(job, { done: done.finally(() => void (job.state = 'DONE')) });
    this.#jobs.set(id, job);
    return job;
  }

  async #query(body: Json): Promise<unknown> {
    const sql = String(body['query']);
    const parameters = parametersIn(body);
    if (body['dryRun'] === true) {
      const fields = await this.engine.describe(sql, parameters);
      return {
        jobComplete: true,
        jobReference: { projectId: PROJECT },
        schema: { fields: fields.map(apiField) },
      };
    }
    const requestId = typeof body['requestId'] === 'string' ? body['requestId'] : '';
    const known = this.#requests.get(requestId);
    const job =
      known ??
      this.#begin(
        `job_${(this.#made += 1)}`,
        () => this.engine.run(sql, parameters),
        NEVER.test(sql),
      );
    if (requestId !== '') this.#requests.set(requestId, job);
    return this.#waitFor(job, {
      most: Number(body['maxResults'] ?? Infinity),
      from: 0,
      waitMs: Number(body['timeoutMs'] ?? 10_000),
    });
  }

  #results({ query }: Asked, job: Job): Promise<unknown> {
    return this.#waitFor(job, {
      most: Number(query.get('maxResults') ?? Infinity),
      from: Number((query.get('pageToken') ?? 'at-0').slice(3)),
      waitMs: Number(query.get('timeoutMs') ?? 10_000),
    });
  }

  async #waitFor(
    job: Job,
    {
      most,
      from,
      waitMs,
    }: { readonly most: number; readonly from: number; readonly waitMs: number },
  ): Promise<unknown> {
    const jobReference = { projectId: PROJECT, jobId: job.id, location: 'US' };
    if (job.pending > 0) {
      job.pending -= 1;
      return { jobReference, jobComplete: false };
    }
    const late = new Promise<void>((done) => setTimeout(done, Math.min(waitMs, ANSWER_MS)));
    await (job.isEndless ? Promise.race([job.done, late]) : job.done);
    if (job.state !== 'DONE') return { jobReference, jobComplete: false };
    if (job.fault !== undefined) throw job.fault;
    const { fields = [], rows = [], changed } = job.outcome ?? {};
    const to = Math.min(rows.length, from + most);
    return {
      jobReference,
      jobComplete: true,
      schema: { fields: fields.map(apiField) },
      totalRows: String(rows.length),
      rows: rows.slice(from, to),
      ...(to < rows.length ? { pageToken: `at-${to}` } : {}),
      ...(changed === undefined ? {} : { numDmlAffectedRows: String(changed) }),
    };
  }

  #load(body: Json): unknown {
    const { jobReference, configuration } = body as {
      jobReference: Json;
      configuration: { load: Json };
    };
    const id = String(jobReference['jobId']);
    if (this.#jobs.has(id))
      throw new BigqueryFault(409, 'duplicate', `Already Exists: Job ${PROJECT}:US.${id}`);
    return this.#jobState(this.#begin(id, () => this.#runLoad(configuration.load)));
  }

  async #runLoad(load: Json): Promise<Outcome> {
    const { datasetId, tableId } = load['destinationTable'] as Record<string, string>;
    const table = this.#table(datasetId, tableId);
    const rows = (load['sourceUris'] as string[]).flatMap((uri) => {
      const [, bucket = '', key = ''] = /^gs:\/\/([^/]+)\/(.*)$/.exec(uri) ?? [];
      const bytes = this.objects(bucket, key);
      if (bytes === undefined) throw new BigqueryFault(404, 'notFound', `Not found: URI ${uri}`);
      return Buffer.from(bytes)
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Json);
    });
    const bad = rows.flatMap((row) => faultsOf(table.fields, row));
    if (bad[0] !== undefined)
      throw new BigqueryFault(
        400,
        'invalid',
        `Error while reading data, error message: JSON table encountered too many errors, giving up. ${bad[0].message}`,
      );
    const count = await this.engine.run(
      `SELECT CAST(COUNT(*) AS STRING) AS n FROM \`${PROJECT}.${datasetId}.${tableId}\``,
    );
    const isEmpty = JSON.stringify(count.rows).includes('"0"');
    if (load['writeDisposition'] === 'WRITE_EMPTY' && !isEmpty)
      throw new BigqueryFault(
        409,
        'duplicate',
        `Already Exists: Table ${PROJECT}:${datasetId}.${tableId}`,
      );
    if (load['writeDisposition'] === 'WRITE_TRUNCATE') await this.engine.empty(table);
    const { buffers } = this.engine;
    this.engine.buffers = false;
    await this.engine.add(table, rows).finally(() => (this.engine.buffers = buffers));
    return NOTHING;
  }

  #jobState(job: Job): unknown {
    const { fault, state, id } = job;
    const isPending = job.pending > 0 || state !== 'DONE';
    if (job.pending > 0) job.pending -= 1;
    const proto =
      fault === undefined
        ? {}
        : {
            errorResult: { reason: fault.reason, message: fault.message },
            errors: [{ reason: fault.reason, message: fault.message }],
          };
    const destinationTable = { projectId: PROJECT, datasetId: RESULTS, tableId: id };
    return {
      jobReference: { projectId: PROJECT, jobId: id, location: 'US' },
      configuration: (job.outcome?.fields.length ?? 0) > 0 ? { query: { destinationTable } } : {},
      status: isPending ? { state: 'RUNNING' } : { state: 'DONE', ...proto },
    };
  }

  #listDatasets({ query }: Asked): unknown {
    const all = [...this.engine.datasets].map((datasetId) => ({ datasetReference: { datasetId } }));
    return pageOf('datasets', all, query);
  }

  #listTables(dataset: string, { query }: Asked): unknown {
    this.#dataset(dataset);
    const all = [...this.engine.tables.values()]
      .filter((table) => table.dataset === dataset)
      .map(({ name, kind }) => ({
        tableReference: { datasetId: dataset, tableId: name },
        type: kind,
      }));
    return pageOf('tables', all, query);
  }

  async #tableInfo({ dataset, name, fields, primaryKey, kind }: Table): Promise<unknown> {
    const count = await this.engine
      .run(`SELECT COUNT(*) AS n FROM \`${PROJECT}.${dataset}.${name}\``)
      .catch((error: unknown) => {
        // It was dropped meanwhile.
        this.#table(dataset, name);
        throw error;
      });
    const [row] = count.rows as { f: { v: string }[] }[];
    return {
      tableReference: { projectId: PROJECT, datasetId: dataset, tableId: name },
      type: kind,
      schema: { fields: fields.map(apiField) },
      numRows: row?.f[0]?.v ?? '0',
      ...(primaryKey.length === 0
        ? {}
        : { tableConstraints: { primaryKey: { columns: primaryKey } } }),
    };
  }

  async #insertAll(table: Table, body: Json): Promise<unknown> {
    if (this.unknowing > 0) {
      this.unknowing -= 1;
      throw new BigqueryFault(404, 'notFound', `Table ${table.name} not found.`);
    }
    const rows = body['rows'] as { insertId?: string; json: Json }[];
    const faults = new Map<number, readonly RowFault[]>();
    for (const [index, { json }] of rows.entries()) {
      const found = faultsOf(table.fields, json);
      if (found.length > 0) faults.set(index, found);
    }
    if (faults.size > 0 && body['skipInvalidRows'] !== true)
      for (const index of rows.keys())
        if (!faults.has(index))
          faults.set(index, [{ reason: 'stopped', location: '', message: '' }]);
    const good = rows.filter(({ insertId }, index) => {
      const id = `${table.dataset}.${table.name} ${insertId}`;
      if (faults.has(index) || (insertId !== undefined && this.#inserted.has(id))) return false;
      this.#inserted.add(id);
      return true;
    });
    await this.engine.add(
      table,
      good.map(({ json }) => json),
    );
    if (faults.size === 0) return { kind: 'bigquery#tableDataInsertAllResponse' };
    return { insertErrors: [...faults].map(([index, errors]) => ({ index, errors })) };
  }
}

function pageOf(what: string, all: readonly unknown[], query: URLSearchParams): unknown {
  const from = Number(query.get('pageToken') ?? 0);
  const to = Math.min(all.length, from + 3);
  return { [what]: all.slice(from, to), ...(to < all.length ? { nextPageToken: String(to) } : {}) };
}

function parametersIn({ queryParameters }: Json): Parameters {
  const given = (queryParameters ?? []) as {
    name?: string;
    parameterType: Json;
    parameterValue: Json;
  }[];
  const values = given.map(({ name, parameterType, parameterValue }) => {
    const value = parameterValue['value'];
    const text = typeof value === 'string' ? value : null;
    return [name ?? '', typed(String(parameterType['type']), text)] as const;
  });
  return given.some(({ name }) => name !== undefined)
    ? Object.fromEntries(values)
    : values.map(([, value]) => value);
}

function typed(type: string, text: string | null): string | bigint | number | boolean | null {
  if (text === null) return null;
  if (type === 'INT64') return BigInt(text);
  if (type === 'FLOAT64') return Number(text);
  return type === 'BOOL' ? text === 'true' : text;
}
