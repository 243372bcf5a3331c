/** Calls of a service of Google Cloud over gRPC; the only file here that knows the client library. */
import type { Client, Metadata } from '@grpc/grpc-js';
import type { CredentialProvider, PartContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { loadClient } from '../../lib/load-client.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import type { GoogleAuth } from './account.ts';
import { googleError, type Hints, type Telling } from './errors.ts';
import { googleProvider } from './login.ts';
import { decoded, encoded, type MessageType, type Wire } from './messages.ts';
import { addressOf, type ServicePlace } from './place.ts';

type Library = typeof import('@grpc/grpc-js');

/** Longer than the five minutes that servers ask for between pings. */
const KEEPALIVE_MS = 6 * 60_000;

export interface Method<Q extends object, A extends object> {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly request: MessageType<Q>;
  readonly answer: MessageType<A>;
}

export interface ServiceSettings extends ServicePlace {
  readonly auth: GoogleAuth;
  /** Host of the service, when the config names no other. */
  readonly host: string;
  readonly scope: string;
  readonly hints: Hints;
}

export interface Call {
  /** What cannot be done, for messages. */
  readonly doing: string;
  /** Which resource the call is about, by which the service routes it: `subscription=…`. */
  readonly about: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface StreamCall extends Omit<Call, 'timeoutMs'> {
  /** Time in which the next answer has to come. */
  readonly silenceMs: number;
}

interface Opened {
  readonly library: Library;
  readonly wire: Wire;
  readonly client: Client;
  readonly provider: CredentialProvider;
}

/** Connects when it is first asked. Nothing is repeated: whoever asks knows whether that is safe. */
export class GoogleService {
  readonly #settings: ServiceSettings;
  readonly #context: Pick<PartContext, 'env' | 'signal'>;
  #opened: Promise<Opened> | undefined;

  constructor(settings: ServiceSettings, context: Pick<PartContext, 'env' | 'signal'>) {
    this.#settings = settings;
    this.#context = context;
  }

  async ask<Q extends object, A extends object>(
    method: Method<Q, A>,
    request: Q,
    call: Call,
  ): Promise<A> {
    const { signal = this.#context.signal } = call;
    signal.throwIfAborted();
    const opened = await untilAborted((this.#opened ??= this.#open()), signal);
    const metadata = await untilAborted(this.#metadata(opened, call), signal);
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const sent = opened.client.makeUnaryRequest(
      method.path,
      asIs,
      asIs,
      encoded(opened.wire, method.request, request),
      metadata,
      { deadline: Date.now() + call.timeoutMs },
      (error, answer) => {
        if (error !== null || answer === undefined) reject(error ?? new Error('no answer'));
        else resolve(answer);
      },
    );
    try {
      return decoded(opened.wire, method.answer, await untilAborted(promise, signal));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw googleError(error, this.#telling(opened, call));
    } finally {
      if (signal.aborted) sent.cancel();
    }
  }

  /** The answers of a call that has many, no faster than they are taken. */
  async *stream<Q extends object, A extends object>(
    method: Method<Q, A>,
    request: Q,
    call: StreamCall,
  ): AsyncGenerator<A, void> {
    const { signal = this.#context.signal } = call;
    signal.throwIfAborted();
    const opened = await untilAborted((this.#opened ??= this.#open()), signal);
    const metadata = await untilAborted(this.#metadata(opened, call), signal);
    const sent = opened.client.makeServerStreamRequest(
      method.path,
      asIs,
      asIs,
      encoded(opened.wire, method.request, request),
      metadata,
    );
    const cancel = (): void => sent.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    let isSilent = false;
    const fallSilent = (): void => {
      isSilent = true;
      cancel();
    };
    let silence = setTimeout(fallSilent, call.silenceMs);
    // What is told after the end of the loop is nobody's.
    sent.on('error', () => {});
    try {
      for await (const answer of sent) {
        clearTimeout(silence);
        yield decoded(opened.wire, method.answer, answer as Buffer);
        silence = setTimeout(fallSilent, call.silenceMs);
      }
      signal.throwIfAborted();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isSilent)
        throw new ConnectorError(
          'timeout',
          `${call.doing}: nothing has come for ${call.silenceMs / 1000} seconds`,
          { hint: 'check that the service answers, then run again' },
        );
      throw googleError(error, this.#telling(opened, call));
    } finally {
      clearTimeout(silence);
      signal.removeEventListener('abort', cancel);
      sent.cancel();
    }
  }

  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    opened?.client.close();
  }

  async #open(): Promise<Opened> {
    const { host, auth, scope } = this.#settings;
    const packages = '@grpc/grpc-js @bufbuild/protobuf';
    const [library, wire] = await loadClient(packages, () =>
      Promise.all([import('@grpc/grpc-js'), import('@bufbuild/protobuf/wire')]),
    );
    const { target, isEmulator } = addressOf(this.#settings, host);
    const { credentials } = library;
    const client = new library.Client(
      target,
      isEmulator ? credentials.createInsecure() : credentials.createSsl(),
      {
        'grpc.max_receive_message_length': -1,
        'grpc.max_send_message_length': -1,
        'grpc.keepalive_time_ms': KEEPALIVE_MS,
      },
    );
    const who: GoogleAuth = isEmulator ? { type: 'anonymous' } : auth;
    const provider = await googleProvider(who, { url: `https://${target}/`, scope }, this.#context);
    return { library, wire, client, provider };
  }

  async #metadata(
    { library, provider }: Opened,
    { about }: Pick<Call, 'about'>,
  ): Promise<Metadata> {
    const metadata = new library.Metadata();
    const login = await provider.get(this.#context.signal);
    const all = { ...login.headers, 'x-goog-request-params': about };
    for (const [name, value] of Object.entries(all)) metadata.set(name, value);
    return metadata;
  }

  #telling({ wire }: Opened, { doing }: Pick<Call, 'doing'>): Telling {
    const { env } = this.#context;
    return { doing, hints: this.#settings.hints, redactor: env.redactor, wire };
  }
}

const asIs = (bytes: Buffer): Buffer => bytes;
