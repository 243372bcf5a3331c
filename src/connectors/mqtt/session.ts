/**
 * One connection to an MQTT server, over packets that `mqtt-packet` reads and writes. Messages are
 * acknowledged when their reader says so, which the usual clients do by themselves on arrival.
 */
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { IConnackPacket, IPublishPacket, ISubscription, Packet, Parser } from 'mqtt-packet';
import { ConnectorError } from '../../lib/errors.ts';
import { loadClient } from '../../lib/load-client.ts';
import type { MqttAddress } from './addresses.ts';
import type { MqttConnectionConfig } from './config.ts';
import { mqttError, refusal } from './errors.ts';
import { openStream } from './streams.ts';

const CONNECT_MS = 10_000;
const CLOSE_MS = 500;
const MOST_IDS = 65_535;

export interface SessionOptions {
  readonly address: MqttAddress;
  readonly config: MqttConnectionConfig;
  readonly clientId: string | undefined;
  readonly clean: boolean;
  /** Of MQTT 5. */
  readonly expirySecs?: number;
  readonly receiveMaximum?: number;
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** What goes on, for messages. */
  readonly doing: string;
  readonly onMessage?: (packet: IPublishPacket) => void;
  /** The connection has ended without `end`. Called once. */
  readonly onLost?: (error: ConnectorError) => void;
}

type Version = 4 | 5;

interface Waiting {
  resolve(packet: Packet): void;
  reject(error: unknown): void;
}

export class MqttSession {
  readonly isPresent: boolean;
  /** What the server says of itself; empty with MQTT 3.1.1. */
  readonly server: NonNullable<IConnackPacket['properties']>;
  readonly version: Version;
  readonly #wire: Wire;
  readonly #options: SessionOptions;
  readonly #keepAlive: NodeJS.Timeout;
  /** By the number of the packet that is answered. */
  readonly #waiting = new Map<number, Waiting>();
  #pings: Waiting[] = [];
  #lastId = 0;
  #failure: ConnectorError | undefined;
  #hasEnded = false;
  #isPaused = false;

  /** Failures are `ConnectorError`s. */
  static async open(options: SessionOptions): Promise<MqttSession> {
    const { doing, signal } = options;
    const tooLate = AbortSignal.timeout(CONNECT_MS);
    try {
      const until = { ...options, signal: AbortSignal.any([signal, tooLate]) };
      const wire = await Wire.open(until);
      try {
        const answer = await wire.greet(until);
        return new MqttSession(wire, answer, options);
      } catch (error) {
        wire.stream.destroy();
        throw error;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!tooLate.aborted) throw mqttError(error, doing);
      const message = `${doing}: the server does not answer within ${CONNECT_MS / 1000} s`;
      throw new ConnectorError('timeout', message, { cause: error });
    }
  }

  private constructor(wire: Wire, answer: IConnackPacket, options: SessionOptions) {
    this.#wire = wire;
    this.#options = options;
    this.isPresent = answer.sessionPresent;
    this.server = answer.properties ?? {};
    this.version = wire.version;
    wire.listen({
      onPacket: (packet) => this.#received(packet),
      onEnd: (error) => this.#lost(error),
    });
    const seconds = this.server.serverKeepAlive ?? options.config.keep_alive_secs;
    // Half of it: a server waits one and a half times as long.
    this.#keepAlive = setInterval(() => this.#lookAfter(), (seconds * 1000) / 2).unref();
  }

  get isOpen(): boolean {
    return !this.#hasEnded;
  }

  /** The quality of service that the server grants for each. */
  async subscribe(subscriptions: ISubscription[]): Promise<readonly number[]> {
    const answer = await this.#asked((messageId) => ({
      cmd: 'subscribe',
      messageId,
      subscriptions,
    }));
    return answer.cmd === 'suback' ? (answer.granted as number[]) : [];
  }

  /** Resolves when the server has it, or with quality 0 when it is on its way. */
  async publish(message: Omit<IPublishPacket, 'cmd' | 'messageId' | 'dup'>): Promise<void> {
    const packet = { cmd: 'publish' as const, dup: false, ...message };
    if (message.qos === 0) return this.#send(packet);
    await this.#asked((messageId) => ({ ...packet, messageId }));
  }

  /** Says that a message is done. */
  acknowledge({ qos, messageId = 0 }: IPublishPacket): void {
    if (qos === 0) return;
    this.#send({ cmd: qos === 1 ? 'puback' : 'pubrec', messageId, reasonCode: 0 });
  }

  /** Resolves when the server has done all that it was sent before. */
  async ping(): Promise<void> {
    await new Promise<Packet>((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      this.#pings.push({ resolve, reject });
      this.#send({ cmd: 'pingreq' });
      this.#flow();
    });
  }

  /** While it is paused the server waits. What it has been asked is read all the same. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#flow();
  }

  /** Says goodbye; the server keeps the session as agreed. Never rejects. */
  async end(): Promise<void> {
    if (this.#hasEnded) return;
    this.#finish(new ConnectorError('connection', 'the connection was closed'));
    const { stream } = this.#wire;
    const closed = new Promise((done) => stream.once('close', done));
    this.#wire.write({ cmd: 'disconnect', reasonCode: 0 });
    stream.end();
    stream.resume();
    const over = setTimeout(() => stream.destroy(), CLOSE_MS);
    await closed;
    clearTimeout(over);
  }

  #asked(packetOf: (messageId: number) => Packet): Promise<Packet> {
    return new Promise((resolve, reject) => {
      const messageId = this.#freeId();
      if (this.#failure !== undefined) return reject(this.#failure);
      this.#waiting.set(messageId, { resolve, reject });
      this.#send(packetOf(messageId));
      this.#flow();
    });
  }

  #flow(): void {
    const isIdle = this.#waiting.size === 0 && this.#pings.length === 0;
    if (this.#isPaused && isIdle) this.#wire.stream.pause();
    else this.#wire.stream.resume();
  }

  #freeId(): number {
    do this.#lastId = (this.#lastId % MOST_IDS) + 1;
    while (this.#waiting.has(this.#lastId));
    return this.#lastId;
  }

  #send(packet: Packet): void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#wire.write(packet);
  }

  #received(packet: Packet): void {
    if (this.#hasEnded) return;
    const { messageId = 0 } = packet;
    switch (packet.cmd) {
      case 'publish':
        return this.#options.onMessage?.(packet);
      case 'puback':
      case 'pubcomp':
      case 'suback':
        return this.#answered(packet, 'reasonCode' in packet ? packet.reasonCode : undefined);
      case 'pubrec':
        // A refusal ends the exchange; else the server waits to hear that its answer has come.
        if ((packet.reasonCode ?? 0) >= 128) return this.#answered(packet, packet.reasonCode);
        return this.#send({ cmd: 'pubrel', messageId, reasonCode: 0 });
      case 'pubrel':
        return this.#send({ cmd: 'pubcomp', messageId, reasonCode: 0 });
      case 'pingresp':
        this.#pings.shift()?.resolve(packet);
        return this.#flow();
      case 'disconnect': {
        const { reasonCode: code = 0, properties } = packet;
        return this.#lost(refusal(code, this.#options.doing, properties?.reasonString));
      }
      default:
        return this.#lost(mqttError(new Error(`an unexpected ${packet.cmd}`), this.#options.doing));
    }
  }

  #answered(packet: Packet, code = 0): void {
    const { messageId = 0 } = packet;
    const waiting = this.#waiting.get(messageId);
    this.#waiting.delete(messageId);
    const properties = 'properties' in packet ? packet.properties : undefined;
    const because =
      properties !== undefined && 'reasonString' in properties
        ? properties.reasonString
        : undefined;
    if (code >= 128) waiting?.reject(refusal(code, this.#options.doing, because));
    else waiting?.resolve(packet);
    this.#flow();
  }

  /** Twice in the time that was agreed: a ping, whose answer must have come before the next. */
  #lookAfter(): void {
    if (this.#wire.isSilent && this.#pings.length > 0) {
      const why = `${this.#options.doing}: the server does not answer any more`;
      return this.#lost(new ConnectorError('timeout', why));
    }
    this.#wire.isSilent = true;
    this.ping().catch(() => {});
  }

  #lost(error: unknown): void {
    if (this.#hasEnded) return;
    const failure = mqttError(error, this.#options.doing);
    this.#finish(failure);
    this.#wire.stream.destroy();
    this.#options.onLost?.(failure);
  }

  #finish(failure: ConnectorError): void {
    this.#hasEnded = true;
    this.#failure = failure;
    clearInterval(this.#keepAlive);
    const waiting = [...this.#waiting.values(), ...this.#pings];
    this.#waiting.clear();
    this.#pings = [];
    for (const one of waiting) one.reject(failure);
  }
}

/** Packets to and from the other side. */
class Wire {
  readonly stream: Duplex;
  readonly version: Version;
  /** Whether nothing came since somebody said so. */
  isSilent = false;
  readonly #parser: Parser;
  readonly #generate: (packet: Packet, options: object) => Buffer;
  #early: Packet[] = [];
  #onPacket: ((packet: Packet) => void) | undefined;
  #onEnd: ((error: unknown) => void) | undefined;
  #end: { readonly error: unknown } | undefined;

  static async open({ address, config, cwd, signal }: SessionOptions): Promise<Wire> {
    const codec = await loadClient('mqtt-packet', () => import('mqtt-packet'));
    const stream = await openStream(address, config.tls, { cwd, signal });
    return new Wire(stream, config.protocol_version === '5' ? 5 : 4, codec);
  }

  private constructor(stream: Duplex, version: Version, codec: typeof import('mqtt-packet')) {
    this.stream = stream;
    this.version = version;
    this.#generate = codec.generate;
    this.#parser = codec.parser({ protocolVersion: version });
    this.#parser.on('packet', (packet) => {
      if (this.#onPacket === undefined) this.#early.push(packet);
      else this.#onPacket(packet);
    });
    this.#parser.on('error', (error) => this.#ended(error));
    stream.on('data', (bytes: Buffer) => {
      this.isSilent = false;
      this.#parser.parse(bytes);
    });
    stream.on('error', (error) => this.#ended(error));
    stream.on('close', () => this.#ended(new Error('the connection was lost')));
  }

  write(packet: Packet): void {
    if (!this.stream.destroyed)
      this.stream.write(this.#generate(packet, { protocolVersion: this.version }));
  }

  listen(listener: {
    readonly onPacket: (packet: Packet) => void;
    readonly onEnd: (error: unknown) => void;
  }): void {
    this.#onPacket = listener.onPacket;
    this.#onEnd = listener.onEnd;
    const early = this.#early;
    this.#early = [];
    for (const packet of early) listener.onPacket(packet);
    if (this.#end !== undefined) listener.onEnd(this.#end.error);
  }

  /** Logs in. */
  async greet(options: SessionOptions): Promise<IConnackPacket> {
    const { config, address, clean, clientId, expirySecs, receiveMaximum, signal } = options;
    const username = config.username ?? address.username;
    const password = config.password ?? address.password;
    const answer = Promise.withResolvers<Packet>();
    this.#onPacket = (packet) => {
      // What comes with it is for whoever listens next.
      this.#onPacket = undefined;
      answer.resolve(packet);
    };
    this.#onEnd = answer.reject;
    const abort = (): void => answer.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.write({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: this.version,
      clientId: clientId ?? `headgate-${randomBytes(6).toString('hex')}`,
      clean,
      keepalive: config.keep_alive_secs,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password: Buffer.from(password) }),
      ...(this.version === 5
        ? {
            properties: {
              ...(expirySecs === undefined ? {} : { sessionExpiryInterval: expirySecs }),
              ...(receiveMaximum === undefined ? {} : { receiveMaximum }),
            },
          }
        : {}),
    });
    try {
      if (this.#end !== undefined) throw this.#end.error;
      const packet = await answer.promise;
      if (packet.cmd !== 'connack') throw new Error(`the server answers with ${packet.cmd}`);
      const code = (this.version === 5 ? packet.reasonCode : packet.returnCode) ?? 0;
      if (code > 0) throw refusal(code, options.doing, packet.properties?.reasonString);
      return packet;
    } finally {
      this.#onPacket = undefined;
      this.#onEnd = undefined;
      signal.removeEventListener('abort', abort);
    }
  }

  #ended(error: unknown): void {
    this.#end ??= { error };
    this.#onEnd?.(this.#end.error);
  }
}
