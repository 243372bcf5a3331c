/** Topics as a session receives them: what is not acknowledged comes again. */
import type { IPublishPacket, ISubscription } from 'mqtt-packet';
import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { Inbox } from '../_brokers/inbox.ts';
import type { MessageQueue } from '../_brokers/message-source.ts';
import { addressOf } from './addresses.ts';
import { isKept, type MqttSourceConfig } from './config.ts';
import { mqttError, refusal } from './errors.ts';
import { sizeOf, type MqttMessage } from './message.ts';
import { registerLogin } from './login.ts';
import { MqttSession } from './session.ts';

const RECEIVED = 1000;
const MOST_RECEIVED = 65_535;
const FOR_EVER_SECS = 4_294_967_295;
/** What `retained_messages` is in a subscription of MQTT 5. */
const RETAINED = { read: 0, new: 1, skip: 2 } as const;

export class MqttQueue implements MessageQueue<MqttMessage> {
  readonly acknowledge?: (messages: readonly MqttMessage[]) => Promise<void>;
  readonly mostOpen: number;
  readonly #config: MqttSourceConfig;
  readonly #context: SourceContext;
  readonly #inbox = new Inbox<MqttMessage>();
  readonly #doing: string;
  /** Those that came and are not acknowledged, by the numbers that the server gave them. */
  readonly #open = new Map<number, MqttMessage>();
  #session: MqttSession | undefined;
  #opening: Promise<void> | undefined;
  #wasSubscribed = false;
  /** Whether the server must have a session, of this run or of an earlier one. */
  #isExpected = false;
  /** Whether the session that stands has been subscribed by this run before. */
  #isAgain = false;
  #isClosed = false;
  /** Of what waits to be taken. */
  #bytes = 0;

  constructor(config: MqttSourceConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#doing = `${config.topics.map((topic) => `\`${topic}\``).join(', ')} cannot be read`;
    this.mostOpen = config.receive_maximum ?? usualMaximum(config);
    registerLogin(config, context);
    if (isKept(config)) this.acknowledge = (messages) => this.#acknowledge(messages);
  }

  resume(): void {
    this.#isExpected = isKept(this.#config);
  }

  take(): MqttMessage | undefined {
    const taken = this.#inbox.take();
    if (taken === undefined) return undefined;
    this.#bytes -= sizeOf(taken);
    if (this.#bytes <= this.#context.pageBytes) this.#session?.pause(false);
    if (this.acknowledge === undefined) this.#done(taken);
    return taken;
  }

  async wait(_most: number, ms: number): Promise<void> {
    const { signal, env } = this.#context;
    if (this.#inbox.length === 0) await untilAborted(this.#connected(), signal);
    await this.#inbox.arrival(ms, { clock: env.clock, signal });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const session = this.#session;
    this.#session = undefined;
    await session?.end();
  }

  async #acknowledge(messages: readonly MqttMessage[]): Promise<void> {
    for (const message of messages) this.#done(message);
    const isLost = this.#session === undefined;
    try {
      // They come again on the next connection, and are acknowledged there.
      await untilAborted(this.#connected(), this.#context.signal);
      if (isLost) await untilAborted(this.#answered(), this.#context.signal);
      await untilAborted(this.#answered(), this.#context.signal);
    } catch (error) {
      this.#context.signal.throwIfAborted();
      throw mqttError(error, 'messages cannot be acknowledged');
    }
  }

  /** The server has done what it was sent. */
  #answered(): Promise<void> {
    return this.#session?.ping() ?? Promise.resolve();
  }

  /**
   * One that came on a connection that was lost comes again, and is acknowledged then. A number means
   * nothing any more once its acknowledgement was sent: the server may give it to another message.
   */
  #done(message: MqttMessage): void {
    message.isDone = true;
    if (message.session !== this.#session || !this.#session.isOpen) return;
    this.#session.acknowledge(message.packet);
    this.#open.delete(message.packet.messageId ?? 0);
  }

  async #connected(): Promise<void> {
    if (this.#session !== undefined) return;
    this.#opening ??= this.#connect().finally(() => (this.#opening = undefined));
    await this.#opening;
  }

  async #connect(): Promise<void> {
    const { client_id: clientId, protocol_version: version } = this.#config;
    const { env, signal } = this.#context;
    const address = addressOf(this.#config.url);
    if (address === undefined) throw new Error('cannot happen: a config with another address');
    const kept = isKept(this.#config);
    const expirySecs = this.#config.session_expiry_secs ?? FOR_EVER_SECS;
    const early: IPublishPacket[] = [];
    let session: MqttSession | undefined;
    session = await MqttSession.open({
      address,
      config: this.#config,
      clientId,
      clean: !kept,
      ...(kept ? { expirySecs } : {}),
      ...(version === '5' ? { receiveMaximum: this.mostOpen } : {}),
      cwd: env.cwd,
      signal,
      doing: this.#doing,
      onMessage: (packet) => {
        if (session === undefined) early.push(packet);
        else this.#received(session, packet);
      },
      onLost: (error) => {
        if (session === undefined || this.#session !== session) return;
        this.#session = undefined;
        this.#inbox.fail(error);
      },
    });
    this.#session = session;
    this.#isAgain = this.#wasSubscribed && session.isPresent;
    if (!session.isPresent) this.#forget();
    for (const packet of early) this.#received(session, packet);
    try {
      await this.#subscribe(session);
    } catch (error) {
      this.#session = undefined;
      await session.end();
      throw mqttError(error, this.#doing);
    }
    if (this.#isClosed || signal.aborted) await this.close();
  }

  /** The numbers of a session that is gone mean nothing any more. */
  #forget(): void {
    const { env } = this.#context;
    this.#open.clear();
    if (this.#isExpected)
      env.log.warn('the server has lost the session: what was sent meanwhile does not come');
  }

  async #subscribe(session: MqttSession): Promise<void> {
    const { topics, qos, retained_messages: retained } = this.#config;
    const rh = this.#isAgain ? RETAINED.skip : RETAINED[retained];
    const granted = await session.subscribe(
      topics.map((topic): ISubscription => ({
        topic,
        qos: qos as ISubscription['qos'],
        ...(session.version === 5 ? { rh, nl: false, rap: false } : {}),
      })),
    );
    for (const [index, code] of granted.entries()) {
      const doing = `\`${topics[index]}\` cannot be read`;
      if (code >= 128) throw refusal(code, doing);
      if (code > 0 || qos === 0) continue;
      throw new ConnectorError('refused', `${doing}: the server grants it with quality 0 only`, {
        hint: 'set `qos: 0`, with which nothing comes again',
      });
    }
    this.#wasSubscribed = true;
    this.#isExpected = isKept(this.#config);
  }

  #received(session: MqttSession, packet: IPublishPacket): void {
    const { qos, messageId = 0, dup } = packet;
    if (this.#isLeftOut(session, packet)) return session.acknowledge(packet);
    const before = qos > 0 && dup ? this.#open.get(messageId) : undefined;
    if (before !== undefined) {
      before.session = session;
      if (before.isDone) this.#done(before);
      return;
    }
    const message = { packet, session, isDone: false };
    if (qos > 0) this.#open.set(messageId, message);
    this.#bytes += sizeOf(message);
    this.#inbox.push(message);
    if (this.#bytes > this.#context.pageBytes) session.pause(true);
  }

  /** MQTT 3.1.1 sends what is retained with each subscription; only its reader can leave it out. */
  #isLeftOut({ isPresent, version }: MqttSession, { retain, dup }: IPublishPacket): boolean {
    const { retained_messages: retained } = this.#config;
    if (!retain || dup || version === 5) return false;
    return retained === 'skip' || this.#isAgain || (isPresent && retained === 'new');
  }
}

function usualMaximum({ batch_size: size }: MqttSourceConfig): number {
  return Math.min(size === 0 ? MOST_RECEIVED : Math.max(RECEIVED, size * 2), MOST_RECEIVED);
}
