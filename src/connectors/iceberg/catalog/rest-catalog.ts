/** A catalog behind the REST API of Iceberg. */
import type { PartContext, RetryPolicy } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, parseJson, type JsonObject } from '../../../lib/text/json.ts';
import { HttpClient } from '../../_http/client.ts';
import { ALL_TRANSIENT, requestRetry, type RequestRetry } from '../../_http/retry.ts';
import type { CatalogConfig } from '../config.ts';
import { metadataOf, textsOf } from '../metadata/table-metadata.ts';
import { MAIN, snapshotIdJson, type TableUpdate } from '../metadata/updates.ts';
import { HEADER, SCOPE, TOKEN, TOKEN_URI } from '../properties.ts';
import { Storage } from '../storage.ts';
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
  readonly #given: Readonly<Record<string, string>>;
  readonly #storages: Storage[] = [];
  #properties: Promise<Readonly<Record<string, string>>> | undefined;

  constructor(config: CatalogConfig, context: Context) {
    const { env, signal } = context;
    this.#context = context;
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
    const answer = await this.#find({ method: 'GET', path: await this.#path(name) });
    return answer === undefined ? undefined : this.#loaded(answer, name);
  }

  async create(name: TableName, table: NewTable): Promise<LoadedTable> {
    const namespace = [...name.namespace];
    await this.#make({
      method: 'POST',
      path: `${await this.#prefix()}namespaces`,
      json: { namespace, properties: {} },
    });
    const made = await this.#make({
      method: 'POST',
      path: `${await this.#prefix()}namespaces/${stepOf(namespace)}/tables`,
      json: {
        name: name.table,
        schema: { ...table.schema, 'schema-id': 0 },
        'partition-spec': { ...table.spec, 'spec-id': 0 },
        'write-order': { 'order-id': 0, fields: [] },
        'stage-create': false,
        properties: { ...table.properties },
      },
    });
    const loaded = made === undefined ? await this.load(name) : await this.#loaded(made, name);
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
    try {
      return await this.#loaded(await this.#ask({ method: 'POST', path, json }, this.#once), name);
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
      if (error.status === 409) return false;
      if (!MAYBE_DONE.has(error.kind)) throw error;
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

  /** `undefined` where there is something of that name already. */
  async #make(call: Call): Promise<JsonObject | undefined> {
    try {
      return await this.#ask(call);
    } catch (error) {
      if (error instanceof ConnectorError && error.status === 409) return undefined;
      throw error;
    }
  }

  async #find(call: Call): Promise<JsonObject | undefined> {
    try {
      return await this.#ask(call);
    } catch (error) {
      if (error instanceof ConnectorError && error.status === 404) return undefined;
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

/** After these a request may have had its effect. */
const MAYBE_DONE: ReadonlySet<string> = new Set(['connection', 'timeout', 'http_5xx']);

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
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
