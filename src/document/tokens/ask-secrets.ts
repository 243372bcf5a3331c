/**
 * Asks secrets managers for what a document names: each secret once, several at a time, again after
 * a passing failure.
 */
import type { Registry } from '../../kit/parts.ts';
import type { SecretManager, SecretManagerDefinition } from '../../kit/secrets.ts';
import { backoffMs, type BackoffPolicy } from '../../lib/time/backoff.ts';
import type { Env } from '../../lib/env.ts';
import { assert, ConnectorError, isTransient, messageOf } from '../../lib/errors.ts';
import { Gate } from '../../lib/gate.ts';
import {
  hasField,
  isObject,
  jsonText,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import type {
  SecretAnswer,
  SecretAnswers,
  SecretReference,
  WantedSecret,
} from './secret-tokens.ts';

export type AskSecrets = (wanted: readonly WantedSecret[]) => Promise<SecretAnswers>;

export interface SecretSettings {
  readonly managers: Registry<SecretManagerDefinition>;
  readonly env: Pick<Env, 'variables' | 'fetch' | 'redactor' | 'clock'>;
  readonly signal?: AbortSignal;
  /** Of one attempt. */
  readonly timeoutMs?: number;
}

const AT_ONCE = 8;
const ATTEMPTS = 3;
const TIMEOUT_MS = 10_000;
const BACKOFF: BackoffPolicy = { backoff: 'exponential', baseMs: 200, maxMs: 2000, jitter: true };
const MAX_LISTED = 20;

type Read =
  | { readonly ok: true; readonly value: string | JsonObject }
  | { readonly ok: false; readonly error: ConnectorError };

/** Every secret that is wanted gets an answer. Rejects only when the signal fires. */
export function secretAsker(settings: SecretSettings): AskSecrets {
  return async (wanted) => {
    await using reader = new SecretReader(settings);
    const answers = await Promise.all(
      wanted.map(
        async ({ token, reference }) =>
          [token, answerOf(await reader.read(reference), { token, reference })] as const,
      ),
    );
    return new Map(answers);
  };
}

/**
 * The managers that are asked in one round. Fields of one secret come from one reading, so that
 * they fit together.
 */
class SecretReader implements AsyncDisposable {
  readonly #settings: SecretSettings;
  readonly #gate = new Gate(AT_ONCE);
  readonly #managers = new Map<string, Promise<SecretManager>>();
  readonly #reads = new Map<string, Promise<Read>>();

  constructor(settings: SecretSettings) {
    this.#settings = settings;
  }

  read(reference: SecretReference): Promise<Read> {
    const key = `${reference.manager}:${reference.name}`;
    let read = this.#reads.get(key);
    if (read === undefined) this.#reads.set(key, (read = this.#readOnce(reference)));
    return read;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await Promise.allSettled(this.#managers.values());
    await Promise.allSettled(
      opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value.close()] : [])),
    );
  }

  async #readOnce({ manager, name }: SecretReference): Promise<Read> {
    const leave = await this.#gate.enter(this.#settings.signal);
    try {
      return await this.#attempts(manager, name);
    } finally {
      leave();
    }
  }

  async #attempts(manager: string, name: string): Promise<Read> {
    const { env, signal } = this.#settings;
    for (let attempt = 1; ; attempt += 1) {
      const read = await this.#attempt(manager, name);
      signal?.throwIfAborted();
      if (read.ok || !isTransient(read.error.kind) || attempt === ATTEMPTS) return read;
      await env.clock.sleep(backoffMs(BACKOFF, attempt - 1), signal);
      signal?.throwIfAborted();
    }
  }

  async #attempt(manager: string, name: string): Promise<Read> {
    const { timeoutMs = TIMEOUT_MS } = this.#settings;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal =
      this.#settings.signal === undefined
        ? timeout
        : AbortSignal.any([timeout, this.#settings.signal]);
    try {
      const open = await this.#open(manager);
      return { ok: true, value: await untilAborted(open.read(name, signal), signal) };
    } catch (error) {
      if (timeout.aborted)
        return {
          ok: false,
          error: new ConnectorError('timeout', `no answer within ${timeoutMs / 1000} s`, {
            cause: error,
          }),
        };
      return {
        ok: false,
        error:
          error instanceof ConnectorError
            ? error
            : new ConnectorError('refused', messageOf(error), { cause: error }),
      };
    }
  }

  #open(type: string): Promise<SecretManager> {
    let manager = this.#managers.get(type);
    if (manager === undefined) this.#managers.set(type, (manager = this.#openFirst(type)));
    return manager;
  }

  async #openFirst(type: string): Promise<SecretManager> {
    const definition = this.#settings.managers.get(type);
    assert(definition !== undefined, `there is a secrets manager ${type}`);
    return definition.open({ env: this.#settings.env });
  }
}

/** Not every client hears a signal in all that it does. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function answerOf(
  read: Read,
  { token, reference }: Pick<WantedSecret, 'token' | 'reference'>,
): SecretAnswer {
  if (!read.ok) return refusalOf(read.error, token);
  const { value } = read;
  if (reference.field === undefined)
    return { ok: true, text: typeof value === 'string' ? value : stringifyJson(value) };
  const fields = typeof value === 'string' ? parsed(value) : value;
  if (!isObject(fields)) {
    const message = `\`\${${token}}\`: the secret is not a JSON object, so it has no field \`${reference.field}\``;
    return {
      ok: false,
      code: 'secret_field',
      message,
      hint: 'leave `#…` out to take the secret as it is',
    };
  }
  if (hasField(fields, reference.field))
    return { ok: true, text: jsonText(fields[reference.field] ?? null) };
  const names = Object.keys(fields).slice(0, MAX_LISTED);
  const hint =
    names.length === 0
      ? 'it has no fields'
      : `it has ${names.map((name) => `\`${name}\``).join(', ')}`;
  return {
    ok: false,
    code: 'secret_field',
    message: `\`\${${token}}\`: the secret has no field \`${reference.field}\``,
    hint,
  };
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function refusalOf({ kind, message: why, hint }: ConnectorError, token: string): SecretAnswer {
  const hinted = hint === undefined ? {} : { hint };
  const name = `\`\${${token}}\``;
  switch (kind) {
    case 'missing':
      return {
        ok: false,
        code: 'secret_not_found',
        message: `${name} is not there: ${why}`,
        ...hinted,
      };
    case 'auth':
      return {
        ok: false,
        code: 'secret_denied',
        message: `${name} may not be read: ${why}`,
        ...hinted,
      };
    default:
      return {
        ok: false,
        code: 'secret_unavailable',
        message: `${name} cannot be read: ${why}`,
        ...hinted,
      };
  }
}
