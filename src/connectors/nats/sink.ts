import type { JetStreamClient } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { requireOpen, type Sink, type WriteResult } from '../../kit/sink.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import type { NatsSinkConfig } from './config.ts';
import { manager } from './consumer.ts';
import { NatsLink } from './link.ts';
import { isSubject } from './subjects.ts';

const MOST_UNCONFIRMED = 10_000;
const CONFIRM_MS = 30_000;
const MOST_SUBJECTS = 10_000;

interface OutMessage {
  readonly subject: string;
  readonly payload: Uint8Array;
}

/** Sends over one connection, and knows which subjects a stream keeps. */
interface Session {
  readonly nc: NatsConnection;
  readonly jetstream: JetStreamClient;
  readonly isKept: Map<string, boolean>;
}

export class NatsSink implements Sink {
  readonly #config: NatsSinkConfig;
  readonly #context: SinkContext;
  readonly #link: NatsLink;
  readonly #encoder = new TextEncoder();
  /** Ids of pages that failed on their way: what arrived of them is not stored twice. */
  readonly #failed = new WeakMap<Page, string>();
  #session: Session | undefined;
  #isClosed = false;

  constructor(config: NatsSinkConfig, context: SinkContext) {
    this.#config = config;
    this.#context = context;
    this.#link = new NatsLink(config, context);
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    // All of them before the first is sent: a record that cannot be sent leaves nothing behind.
    const messages = page.records().map((record, index) => this.#messageOf(record, index));
    // Of nothing else: the sink of the dead letters may publish into the same stream.
    const id = this.#failed.get(page) ?? this.#context.env.ids.next();
    const most = Math.min(this.#config.batch_size || Infinity, MOST_UNCONFIRMED);
    try {
      await this.#checkSizes(messages);
      for (let from = 0; from < messages.length; from += most)
        await this.#send(messages.slice(from, from + most), { id, from });
    } catch (error) {
      this.#failed.set(page, id);
      throw error;
    }
    this.#failed.delete(page);
    return { written: messages.length, rejected: [] };
  }

  async flush(): Promise<void> {}

  async finish(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link.close();
  }

  #messageOf(record: JsonValue, index: number): OutMessage {
    const { subject, subject_field: field } = this.#config;
    const payload = this.#encoder.encode(stringifyJson(record));
    const own = field !== undefined && isObject(record) ? (record[field] ?? null) : null;
    if (own === null) return { subject, payload };
    if (typeof own === 'string' && isSubject(own)) return { subject: own, payload };
    throw new ConnectorError('data', `\`${field}\` of a record is no subject to publish to`, {
      record: index,
      hint: 'a subject is text such as `orders.new`, without `*` and `>`',
    });
  }

  get #doing(): string {
    return `records cannot be published to \`${this.#config.subject}\``;
  }

  async #checkSizes(messages: readonly OutMessage[]): Promise<void> {
    await this.#link.run(this.#doing, (nc) => {
      const most = nc.info?.max_payload ?? Infinity;
      const large = messages.findIndex(({ payload }) => payload.length > most);
      if (large === -1) return Promise.resolve();
      throw new ConnectorError(
        'data',
        `a record has ${messages[large]?.payload.length} bytes; the server takes ${most}`,
        { record: large, hint: 'raise `max_payload` of the server' },
      );
    });
  }

  async #send(
    messages: readonly OutMessage[],
    { id, from }: { readonly id: string; readonly from: number },
  ): Promise<void> {
    await this.#link.run(this.#doing, async (nc) => {
      const session = await this.#sessionOf(nc);
      const confirmed: Promise<unknown>[] = [];
      let isAnyLoose = false;
      for (const [index, { subject, payload }] of messages.entries()) {
        const isKept = session.isKept.get(subject) ?? (await askIfKept(session, subject));
        if (isKept) {
          const options = { msgID: `${id}-${from + index}`, timeout: CONFIRM_MS };
          confirmed.push(session.jetstream.publish(subject, payload, options));
        } else {
          isAnyLoose = true;
          nc.publish(subject, payload);
        }
      }
      if (isAnyLoose) confirmed.push(nc.flush());
      for (const result of await Promise.allSettled(confirmed))
        if (result.status === 'rejected') throw result.reason;
    });
  }

  async #sessionOf(nc: NatsConnection): Promise<Session> {
    if (this.#session?.nc === nc) return this.#session;
    const streams = await manager(nc);
    this.#session = { nc, jetstream: streams.jetstream(), isKept: new Map() };
    return this.#session;
  }
}

/** Whether a stream keeps what is published to the subject, and confirms it. */
async function askIfKept({ nc, isKept }: Session, subject: string): Promise<boolean> {
  if (isKept.size >= MOST_SUBJECTS) isKept.clear();
  const { streams } = await manager(nc);
  const found = await streams
    .names(subject)
    .next()
    .catch((error: unknown) => {
      if (isWithoutJetStream(error)) return [];
      throw error;
    });
  isKept.set(subject, found.length > 0);
  return found.length > 0;
}

/** Not switched on, not for this account, or not for this user. */
function isWithoutJetStream(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const names = [error.name, error.cause instanceof Error ? error.cause.name : ''];
  const isOff = 'code' in error && (error.code === 10_039 || error.code === 10_076);
  return (
    isOff ||
    names.some((name) =>
      ['NoResponders', 'PermissionViolationError', 'JetStreamNotEnabled'].includes(name),
    )
  );
}
