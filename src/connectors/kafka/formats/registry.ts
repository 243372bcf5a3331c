/** Schemas of a Confluent registry, each asked for once. */
import type { LRUCache } from 'lru-cache';
import type { PartContext } from '../../../kit/context.ts';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../../lib/errors.ts';
import { lazyLibrary } from '../../../lib/lazy.ts';
import { kindOfStatus, retryAfterMs } from '../../../lib/http/status-kind.ts';
import { excerptOf } from '../../../lib/text/excerpt.ts';
import { isObject, parseJson, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { shownUrl } from '../../_http/url.ts';
import type { RegistryConfig } from './config.ts';

export type SchemaType = 'AVRO' | 'JSON' | 'PROTOBUF';

interface Fault {
  readonly kind: ConnectorErrorKind;
  readonly retryAfterMs?: number;
}

export interface RegisteredSchema {
  readonly type: SchemaType;
  readonly schema: JsonValue;
}

const library = lazyLibrary<typeof import('lru-cache')>('lru-cache');
/** Only of an id that a message names, and the registry does not know. */
const UNKNOWN_SCHEMA = 40_403;
const MEDIA_TYPE = 'application/vnd.schemaregistry.v1+json';

export class SchemaRegistry {
  readonly #config: RegistryConfig;
  readonly #context: Pick<PartContext, 'env' | 'signal'>;
  readonly #schemas: LRUCache<number, RegisteredSchema>;

  constructor(config: RegistryConfig, context: Pick<PartContext, 'env' | 'signal'>) {
    this.#config = config;
    this.#context = context;
    const { LRUCache: Cache } = library();
    this.#schemas = new Cache({ max: config.cache_capacity });
    if (config.auth !== undefined) context.env.redactor.register(config.auth.password);
  }

  async schemaOf(id: number): Promise<RegisteredSchema> {
    const known = this.#schemas.get(id);
    if (known !== undefined) return known;
    const found = await this.#ask(`/schemas/ids/${id}`);
    const { schema, schemaType = 'AVRO', references = [] } = found;
    if (typeof schema !== 'string')
      throw this.#failure(`the schema ${id} is no text`, { kind: 'refused' });
    if (Array.isArray(references) && references.length > 0)
      throw this.#failure(`the schema ${id} refers to others, which cannot be read`, {
        kind: 'data',
      });
    const read: RegisteredSchema = { type: schemaType as SchemaType, schema: jsonOf(schema) };
    this.#schemas.set(id, read);
    return read;
  }

  /** The id of the schema of the subject; a new version where it is not known there yet. */
  async register(subject: string, type: SchemaType, schema: string): Promise<number> {
    const body = { schema, ...(type === 'AVRO' ? {} : { schemaType: type }) };
    const { id } = await this.#ask(`/subjects/${encodeURIComponent(subject)}/versions`, body);
    if (typeof id !== 'number')
      throw this.#failure(`it gives no id for \`${subject}\``, { kind: 'refused' });
    return id;
  }

  async #ask(path: string, body?: JsonObject): Promise<JsonObject> {
    const { url, request_timeout: seconds } = this.#config;
    const { env, signal } = this.#context;
    const limit = AbortSignal.timeout(seconds * 1000);
    const send = async (): Promise<readonly [Response, string]> => {
      const response = await env.fetch(`${url.replace(/\/+$/, '')}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { accept: MEDIA_TYPE, 'content-type': MEDIA_TYPE, ...this.#login() },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, limit]),
      });
      return [response, await response.text()];
    };
    const [{ ok, status, headers }, text] = await send().catch((error: unknown) => {
      signal.throwIfAborted();
      const inner = error instanceof Error ? (error.cause ?? error) : error;
      throw this.#failure(messageOf(inner), { kind: limit.aborted ? 'timeout' : 'connection' });
    });
    const found = jsonOf(text);
    if (!ok) {
      const isUnknown = isObject(found) && found['error_code'] === UNKNOWN_SCHEMA;
      const asked = retryAfterMs(headers.get('retry-after'), env.clock.now());
      throw this.#failure(`it answers ${status}: ${excerptOf(text, env.redactor)}`, {
        kind: isUnknown ? 'data' : kindOfStatus(status),
        ...(asked === undefined ? {} : { retryAfterMs: asked }),
      });
    }
    // No registry answers like that, but what stands before one that is away may.
    if (!isObject(found))
      throw this.#failure('its answer is no mapping in JSON', { kind: 'connection' });
    return found;
  }

  #login(): { authorization?: string } {
    const { auth } = this.#config;
    if (auth === undefined) return {};
    const login = Buffer.from(`${auth.username}:${auth.password}`).toString('base64');
    return { authorization: `Basic ${login}` };
  }

  /** `data`: the message that names the schema is at fault. */
  #failure(message: string, { kind, retryAfterMs: asked }: Fault): ConnectorError {
    const where = shownUrl(this.#config.url);
    return new ConnectorError(kind, `the schema registry ${where} cannot be used: ${message}`, {
      hint: 'check `schema_registry`',
      ...(asked === undefined ? {} : { retryAfterMs: asked }),
    });
  }
}

/** A text that is not JSON is itself: the name of a primitive type may stand there without quotes. */
function jsonOf(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
