/** A catalog behind the REST API of Iceberg. */
import type { PartContext, RetryPolicy } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { signedFetch } from '../../../lib/aws/signed-fetch.ts';
import { isObject, jsonText, parseJson, type JsonObject } from '../../../lib/text/json.ts';
import { HttpClient } from '../../_http/client.ts';
import { ALL_TRANSIENT, requestRetry, type RequestRetry } from '../../_http/retry.ts';
import type { CatalogConfig } from '../config.ts';
import { metadataOf, textsOf } from '../metadata/table-metadata.ts';
import { MAIN, snapshotIdJson, type TableUpdate } from '../metadata/updates.ts';
import { HEADER, SCOPE, TOKEN, TOKEN_URI } from '../properties.ts';
import { Storage } from '../storage.ts';
import { signingOf } from './amazon.ts';
import {
  CommitUnknown,
  nameText,
  noTable,
  type Catalog,
  type LoadedTable,
  type NewTable,
  type TableName,
} from './catalog.ts';

const REQUEST_MS = 60_000;
const RETRY: RequestRetry = {
  maxRetries: 3,
  backoff: 'exponential',
  baseMs: 300,
  maxMs: 10_000,
  jitter: true,
  on: ALL_TRANSIENT,
};
/** Between the steps of a namespace in an address. */
const UNIT_SEPARATOR = '\u001F';
const FIRST_PROPERTIES: Readonly<Record<string, string>> = {};

type Context = PartContext & { readonly retry?: RetryPolicy };

interface Call {
  readonly method: 'GET' | 'POST';
  /** Behind `/v1/`, with its steps encoded. */
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly json?: JsonObject;
}

export class RestCatalog implements Catalog {
  readonly #context: Context;
  readonly #base: string;
  readonly #client: HttpClient;
  readonly #once: HttpClient;
  readonly #warehouse: string | undefined;
  readonly #folder: string | undefined;
  readonly #given: Readonly<Record<string, string>>;
  readonly #storages: Storage[] = [];
  #properties: Promise<Readonly<Record<string, string>>> | undefined;

  /** `folder`: where new tables are made; the catalog says so when absent. */
  constructor(config: CatalogConfig, context: Context, folder?: string) {
    const { env, signal } = context;
    const signing = signingOf(config, context);
    this.#context = context;
    this.#folder = folder;
    this.#base = (config.uri ?? '').replace(/\/+$/, '');
    this.#warehouse = config.warehouse;
    this.#given = config.properties ?? FIRST_PROPERTIES;
    const retry = requestRetry(context.retry, RETRY, {});
    const options = {
      env,
      signal,
      provider: context.credentials.resolve(loginOf(config, this.#base, context)),
      homes: [this.#base],
      timeoutMs: REQUEST_MS,
      headers: headersOf(this.#given),
      // As a GET, a commit would get the table as it was, as if it were made.
      keepsBody: true,
      fetch: signing === undefined ? undefined : signedFetch(signing, env.clock, env.fetch),
    };
    this.#client = new HttpClient({ ...options, retry });
    // A commit is repeated by those who look first whether it was made.
    this.#once = new HttpClient({
      ...options,
      retry: { ...retry, on: retry.on.filter((kind) => kind === 'rate_limited') },
    });
  }

  async list(): Promise<readonly TableName[]> {
    const found: TableName[] = [];
    const waiting: (readonly string[])[] = [[]];
    for (let parent = waiting.shift(); parent !== undefined; parent = waiting.shift()) {
      const below = await this.#namespaces(parent);
      waiting.push(...below);
      for (const namespace of below) found.push(...(await this.#tables(namespace)));
    }
    return found;
  }

  async load(name: TableName): Promise<LoadedTable | undefined> {
    const call = { method: 'GET', path: await this.#path(name) } as const;
    const answer = await this.#answerUnless({ 404: 'missing' }, call);
    return answer === 'missing' ? undefined : this.#loaded(answer, name);
  }

  async create(name: TableName, table: NewTable): Promise<LoadedTable> {
    // A namespace that is there may be one that the login cannot make.
    const first = await this.#make(name, table);
    if (first === 'missing') await this.#makeNamespace(name.namespace);
    const made = first === 'missing' ? await this.#make(name, table) : first;
    const isMade = typeof made === 'object';
    const loaded = isMade ? await this.#loaded(made, name) : await this.load(name);
    if (loaded === undefined) throw noTable(name);
    return loaded;
  }

  async commit(
    name: TableName,
    base: LoadedTable,
    updates: readonly TableUpdate[],
  ): Promise<LoadedTable | false> {
    const { metadata } = base;
    const path = await this.#path(name);
    const json: JsonObject = {
      identifier: { namespace: [...name.namespace], name: name.table },
      requirements: [
        { type: 'assert-table-uuid', uuid: metadata.uuid },
        {
          type: 'assert-ref-snapshot-id',
          ref: MAIN,
          'snapshot-id':
            metadata.current === undefined ? null : snapshotIdJson(metadata.current.id),
        },
        { type: 'assert-current-schema-id', 'current-schema-id': metadata.schema.id },
        { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': metadata.lastColumnId },
      ],
      updates: updates as unknown as JsonObject[],
    };
    let isTaken = false;
    try {
      const answer = await this.#ask({ method: 'POST', path, json }, this.#once);
      isTaken = true;
      return await this.#loaded(answer, name);
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
      if (error.status === 409) return false;
      if (!isTaken && !MAYBE_DONE.has(error.kind)) throw error;
      throw new CommitUnknown(error.kind, error.message, {
        cause: error,
        hint: 'it is not known whether the commit was made: look at the table before it is run again',
      });
    }
  }

  async check(): Promise<void> {
    await this.#settings();
  }

  async close(): Promise<void> {
    for (const storage of this.#storages) await storage.close();
  }

  async #namespaces(parent: readonly string[]): Promise<readonly (readonly string[])[]> {
    const query = parent.length === 0 ? [] : [['parent', parent.join(UNIT_SEPARATOR)] as const];
    const path = `${await this.#prefix()}namespaces`;
    const all = await this.#pages({ method: 'GET', path, query }, 'namespaces');
    return all.filter((one) => Array.isArray(one)).map((steps) => steps.map(jsonText));
  }

  async #tables(namespace: readonly string[]): Promise<readonly TableName[]> {
    const path = `${await this.#prefix()}namespaces/${stepOf(namespace)}/tables`;
    const all = await this.#pages({ method: 'GET', path }, 'identifiers');
    return all.filter(isObject).map(({ name }) => ({ namespace, table: jsonText(name ?? '') }));
  }

  async #pages(call: Call, member: string): Promise<readonly unknown[]> {
    const all: unknown[] = [];
    let token: string | undefined;
    do {
      const paging = token === undefined ? [] : [['pageToken', token] as const];
      const answer = await this.#ask({ ...call, query: [...(call.query ?? []), ...paging] });
      const part = answer[member];
      if (Array.isArray(part)) all.push(...part);
      const next = answer['next-page-token'];
      token = typeof next === 'string' && next !== '' ? next : undefined;
    } while (token !== undefined);
    return all;
  }

  async #loaded(answer: JsonObject, name: TableName): Promise<LoadedTable> {
    const { metadata, 'metadata-location': file } = answer;
    if (!isObject(metadata))
      throw new ConnectorError('data', 'the catalog answers without the metadata of the table', {
        hint: 'check `catalog.uri`',
      });
    // What the catalog says of the store is for this table, and may be a login of a short time.
    const [storage, given] = [textsOf(answer['config']), await this.#settings()];
    const own = new Storage({ ...given, ...storage, ...this.#given }, this.#context);
    this.#storages.push(own);
    return {
      metadataFile: typeof file === 'string' ? file : '',
      metadata: metadataOf(metadata, nameText(name)),
      storage: own,
    };
  }

  async #path({ namespace, table }: TableName): Promise<string> {
    const prefix = await this.#prefix();
    return `${prefix}namespaces/${stepOf(namespace)}/tables/${encodeURIComponent(table)}`;
  }

  async #prefix(): Promise<string> {
    const { prefix } = await this.#settings();
    return prefix === undefined || prefix === '' ? '' : `${prefix}/`;
  }

  /** What the catalog says of itself, with what the document says. */
  #settings(): Promise<Readonly<Record<string, string>>> {
    this.#properties ??= this.#config();
    return this.#properties;
  }

  async #config(): Promise<Readonly<Record<string, string>>> {
    const query = this.#warehouse === undefined ? [] : [['warehouse', this.#warehouse] as const];
    const answer = await this.#ask({ method: 'GET', path: 'config', query });
    return { ...textsOf(answer['defaults']), ...this.#given, ...textsOf(answer['overrides']) };
  }

  /** `exists`: the table; `missing`: its namespace is not there. */
  async #make(name: TableName, table: NewTable): Promise<JsonObject | 'exists' | 'missing'> {
    const path = `${await this.#prefix()}namespaces/${stepOf(name.namespace)}/tables`;
    const json: JsonObject = {
      name: name.table,
      schema: { ...table.schema, 'schema-id': 0 },
      'partition-spec': { ...table.spec, 'spec-id': 0 },
      'write-order': { 'order-id': 0, fields: [] },
      'stage-create': false,
      properties: { ...table.properties },
      ...(this.#folder === undefined ? {} : { location: locationIn(this.#folder, name) }),
    };
    return this.#answerUnless({ 404: 'missing', 409: 'exists' }, { method: 'POST', path, json });
  }

  async #makeNamespace(namespace: readonly string[]): Promise<void> {
    const path = `${await this.#prefix()}namespaces`;
    const json = { namespace: [...namespace], properties: {} };
    await this.#answerUnless({ 409: 'exists' }, { method: 'POST', path, json });
  }

  /** The answer, or what one of these statuses stands for. */
  async #answerUnless<T extends string>(
    statuses: Readonly<Record<number, T>>,
    call: Call,
  ): Promise<JsonObject | T> {
    try {
      return await this.#ask(call);
    } catch (error) {
      const meant = error instanceof ConnectorError ? statuses[error.status ?? 0] : undefined;
      if (meant !== undefined) return meant;
      throw error;
    }
  }

  async #ask({ method, path, query = [], json }: Call, client = this.#client): Promise<JsonObject> {
    const url = `${this.#base}/v1/${path}`;
    const body = json === undefined ? undefined : { json };
    const { bytes } = await client.send({ method, url, query, body });
    const answer = bytes.length === 0 ? {} : parsed(Buffer.from(bytes).toString('utf8'));
    if (isObject(answer)) return answer;
    throw new ConnectorError('data', `${url} does not answer as a REST catalog does`, {
      hint: 'check `catalog.uri`: it is the address before `/v1/`',
    });
  }
}

/** After these a request may have had its effect. `data`: its answer cannot be read. */
const MAYBE_DONE: ReadonlySet<string> = new Set(['connection', 'timeout', 'http_5xx', 'data']);

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** As the clients of Java and Python name the folder of a table. */
function locationIn(folder: string, { namespace, table }: TableName): string {
  return `${folder}/${namespace.join('.')}.db/${table}`;
}

function stepOf(namespace: readonly string[]): string {
  return encodeURIComponent(namespace.join(UNIT_SEPARATOR));
}

function headersOf(properties: Readonly<Record<string, string>>): Record<string, string> {
  const given = Object.entries(properties).flatMap(([name, value]) =>
    name.startsWith(HEADER) ? [[name.slice(HEADER.length).toLowerCase(), value] as const] : [],
  );
  return { 'x-iceberg-access-delegation': 'vended-credentials', ...Object.fromEntries(given) };
}

function loginOf(
  { credential, properties = {} }: CatalogConfig,
  base: string,
  { env }: Context,
): JsonObject | undefined {
  const token = properties[TOKEN];
  for (const [name, value] of Object.entries(properties))
    if (name.startsWith(HEADER)) env.redactor.register(value);
  if (token !== undefined) {
    env.redactor.register(token);
    return { type: 'bearer', config: { token } };
  }
  if (credential === undefined) return undefined;
  const at = credential.indexOf(':');
  const [id, secret] = [credential.slice(0, at), credential.slice(at + 1)];
  env.redactor.register(secret);
  return {
    type: 'oauth2',
    config: {
      token_url: properties[TOKEN_URI] ?? `${base}/v1/oauth/tokens`,
      client_id: id,
      client_secret: secret,
      scopes: (properties[SCOPE] ?? 'catalog').split(' '),
      expiry_ratio: 0.9,
    },
  };
}
