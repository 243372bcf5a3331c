/** A topic or a subscription, and the service that has it. */
import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, ConnectorError, messageOf } from '../../lib/errors.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { GRPC_STATUS } from '../_grpc/status.ts';
import { projectOfLogin, type GoogleAuth } from '../_google/account.ts';
import { GoogleService, type Method } from '../_google/service.ts';
import { GET_SUBSCRIPTION, GET_TOPIC } from './api.ts';
import { pathOf, projectIn } from './names.ts';

const REQUEST_MS = 60_000;

const HINTS = {
  [GRPC_STATUS.notFound]:
    'check the name and the project; topics and subscriptions are not made here',
  [GRPC_STATUS.permissionDenied]:
    'grant the account the role Pub/Sub Subscriber on the subscription, or Pub/Sub Publisher on the topic',
  [GRPC_STATUS.unauthenticated]: 'check `credentials`: Pub/Sub does not know who asks',
};

export interface ResourceFields {
  readonly project_id?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly emulator_host?: string | undefined;
  readonly credentials: GoogleAuth;
}

export interface Resource {
  readonly kind: 'topic' | 'subscription';
  readonly name: string;
}

/** Fields of a request besides the one that names the resource. */
type Rest<Q, K extends string> = Omit<Q, K>;

export class PubsubLink<K extends 'topic' | 'subscription'> {
  readonly #kind: K;
  readonly #name: string;
  readonly #config: ResourceFields;
  readonly #context: PartContext;
  readonly #service: GoogleService;
  #path: Promise<string> | undefined;

  constructor(kind: K, name: string, config: ResourceFields, context: PartContext) {
    this.#kind = kind;
    this.#name = name;
    this.#config = config;
    this.#context = context;
    const settings = { host: 'pubsub.googleapis.com', scope: 'pubsub', hints: HINTS };
    this.#service = new GoogleService(
      { ...config, auth: config.credentials, ...settings },
      context,
    );
  }

  /** Failures are `ConnectorError`s that begin with `doing`. Nothing is repeated. */
  async ask<Q extends Record<K, string>, A extends object>(
    method: Method<Q, A>,
    request: Rest<Q, K>,
    { doing, signal = this.#context.signal, timeoutMs = REQUEST_MS }: Asking,
  ): Promise<A> {
    signal.throwIfAborted();
    const path = await untilAborted((this.#path ??= this.#pathOf()), signal);
    const about = `${this.#kind}=${encodeURIComponent(path)}`;
    const whole = { ...request, [this.#kind]: path } as unknown as Q;
    return this.#service.ask(method, whole, { doing, about, timeoutMs, signal });
  }

  async close(): Promise<void> {
    await this.#service.close();
  }

  async #pathOf(): Promise<string> {
    const project =
      projectIn(this.#name) ??
      this.#config.project_id ??
      (await projectOfLogin(this.#config.credentials, this.#context));
    if (project === undefined)
      throw new ConnectorError(
        'refused',
        `no project is known for the ${this.#kind} ${this.#name}`,
        {
          hint: 'set `project_id`: this login does not tell one',
        },
      );
    return pathOf(this.#name, this.#kind, project);
  }
}

export interface Asking {
  readonly doing: string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export function resourceAddress(
  { kind, name }: Resource,
  { project_id: project }: ResourceFields,
): string {
  const [, of, , id] = pathOf(name, kind, project ?? 'default').split('/');
  return `pubsub://${of}/${kind}s/${id}`;
}

export function probeTopic(
  { topic, ...config }: ResourceFields & { readonly topic: string },
  context: PartContext,
): Promise<ProbeFinding[]> {
  const link = new PubsubLink('topic', topic, config, context);
  return probed('topic_exists', link, context, (asking) => link.ask(GET_TOPIC, {}, asking));
}

export function probeSubscription(
  { subscription, ...config }: ResourceFields & { readonly subscription: string },
  context: PartContext,
): Promise<ProbeFinding[]> {
  const link = new PubsubLink('subscription', subscription, config, context);
  return probed('subscription_exists', link, context, (asking) =>
    link.ask(GET_SUBSCRIPTION, {}, asking),
  );
}

async function probed(
  name: string,
  link: { close(): Promise<void> },
  { signal }: PartContext,
  ask: (asking: Asking) => Promise<unknown>,
): Promise<ProbeFinding[]> {
  try {
    await ask({ doing: 'it cannot be asked' });
    return [{ name, status: 'pass' }];
  } catch (error) {
    signal.throwIfAborted();
    const told = error instanceof AppError ? error.hint : undefined;
    const hint = told ?? 'check the name, `project_id` and `credentials`';
    return [{ name, status: 'fail', reason: messageOf(error), hint }];
  } finally {
    await link.close();
  }
}
