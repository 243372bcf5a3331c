/** A wire between a connector and its server, which breaks when it is told to. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject, JsonValue } from '../../../src/lib/text/json.ts';
import { isObject } from '../../../src/lib/text/json.ts';

/** `up` is to the server, `down` is from it. */
export type Direction = 'up' | 'down';

export interface Fault {
  readonly direction: Direction;
  /** So many bytes get through in that direction, over all connections. */
  readonly after: number;
  /**
   * `reset`: every connection is then reset; `for good`: later ones are, too. `silence`: nothing
   * passes any more, and new connections are accepted and never answered, until the wire is armed
   * again. `ending`: nothing passes on connections that are there, as with a server that ends now;
   * new ones reach whatever listens then.
   */
  readonly how?: 'reset' | 'silence' | 'ending';
  readonly lasts: 'a moment' | 'for good';
}

/** So many bytes at a time, each after a wait. */
export interface Pace {
  readonly bytes: number;
  readonly everyMs: number;
}

/**
 * Stops a client before one of its messages, as a process that is frozen: nothing passes in either
 * direction until it is opened again, and then everything does.
 */
export class Gate {
  readonly #before: number;
  readonly #waiting: (() => void)[] = [];
  readonly #closed = Promise.withResolvers<void>();
  #isOpen = true;
  #messages = 0;

  /** Counts from 1; it never closes for a message that does not come. */
  constructor(before: number) {
    this.#before = before;
  }

  /** How many messages came from the client. */
  get messages(): number {
    return this.#messages;
  }

  /** When the message has come. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  pass(direction: Direction, work: () => void): void {
    if (direction === 'up' && (this.#messages += 1) === this.#before) {
      this.#isOpen = false;
      this.#closed.resolve();
    }
    if (this.#isOpen) work();
    else this.#waiting.push(work);
  }

  open(): void {
    this.#isOpen = true;
    for (const work of this.#waiting.splice(0)) work();
  }
}

export class FaultyWire implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #pace: Pace | undefined;
  #fault: Fault | undefined;
  #passed = { up: 0, down: 0 };
  #isBroken = false;
  #ending = new WeakSet<Socket>();
  #gate: Gate | undefined;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((socket) => this.#connect(socket));
  }

  static async to(port: number): Promise<FaultyWire> {
    const wire = new FaultyWire(port);
    await new Promise<void>((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Bytes that got through since the last `arm`. */
  get passed(): Readonly<Record<Direction, number>> {
    return this.#passed;
  }

  /** Whether the fault happened. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Whole again, until the fault; without one, for good. What was silent is reset. */
  arm(fault?: Fault, pace?: Pace): void {
    if (this.#isSilent) this.#breakAll();
    this.#ending = new WeakSet();
    this.#fault = fault;
    this.#pace = pace;
    this.#passed = { up: 0, down: 0 };
    this.#isBroken = fault?.how === 'silence' && fault.after === 0;
  }

  /** Everything passes the gate from now on. */
  goBy(gate: Gate): void {
    this.#gate = gate;
  }

  get #isSilent(): boolean {
    return this.#isBroken && this.#fault?.how === 'silence';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#breakAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connect(near: Socket): void {
    near.on('error', () => {});
    if (this.#isSilent) {
      this.#keep(near);
      return;
    }
    if (this.#isBroken && this.#fault?.lasts === 'for good') {
      near.resetAndDestroy();
      return;
    }
    const far = connect(this.#target, '127.0.0.1');
    far.on('error', () => near.resetAndDestroy());
    for (const socket of [near, far]) this.#keep(socket);
    this.#pass('up', near, far);
    this.#pass('down', far, near);
  }

  #keep(socket: Socket): void {
    socket.setNoDelay();
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  #pass(direction: Direction, from: Socket, to: Socket): void {
    let passing = Promise.resolve();
    from.on('data', (bytes) => {
      if (this.#isSilent || this.#ending.has(from)) return;
      if (direction === 'down') this.#tellOfWire(bytes);
      if (this.#gate !== undefined) {
        this.#gate.pass(direction, () => this.#let(bytes, direction, from, to));
        return;
      }
      if (this.#pace === undefined) {
        this.#let(bytes, direction, from, to);
        return;
      }
      from.pause();
      passing = this.#slowly(this.#pace, bytes, (piece) => this.#let(piece, direction, from, to));
      void passing.then(() => from.resume());
    });
    // A silent network tells of no end, either.
    from.on('end', () => this.#isSilent || void passing.then(() => to.end()));
    from.on('close', () => this.#isSilent || void passing.then(() => to.destroy()));
  }

  /** Brokers of Kafka and members of MongoDB tell clients where they are; those would go by no wire. */
  #tellOfWire(bytes: Buffer): void {
    for (const form of [addressOf, addressText]) {
      const [told, wire] = [form(this.#target), form(this.port)];
      // What is shorter or longer would break the frames around it.
      if (told.length !== wire.length) continue;
      for (let at = bytes.indexOf(told); at !== -1; at = bytes.indexOf(told, at + told.length))
        wire.copy(bytes, at);
    }
  }

  async #slowly(pace: Pace, bytes: Buffer, pass: (piece: Buffer) => void): Promise<void> {
    for (let at = 0; at < bytes.length; at += pace.bytes) {
      await sleep(pace.everyMs);
      pass(bytes.subarray(at, at + pace.bytes));
    }
  }

  #let(bytes: Buffer, direction: Direction, from: Socket, to: Socket): void {
    const fault = this.#fault?.direction === direction && !this.#isBroken ? this.#fault : undefined;
    const room = fault === undefined ? Infinity : fault.after - this.#passed[direction];
    if (bytes.length < room) {
      this.#passed[direction] += bytes.length;
      if (!to.write(bytes)) {
        from.pause();
        to.once('drain', () => from.resume());
      }
      return;
    }
    this.#isBroken = true;
    this.#passed[direction] += room;
    if (fault?.how === 'ending') {
      for (const socket of this.#sockets) this.#ending.add(socket);
      to.write(bytes.subarray(0, room));
      return;
    }
    // What was let through arrives before the reset.
    to.write(bytes.subarray(0, room), () => this.#isSilent || this.#breakAll());
  }

  #breakAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }
}

function addressOf(port: number): Buffer {
  const number = Buffer.alloc(4);
  number.writeInt32BE(port);
  return Buffer.concat([Buffer.from('127.0.0.1'), number]);
}

function addressText(port: number): Buffer {
  return Buffer.from(`127.0.0.1:${port}`);
}

/** Wires to all servers that a config names, and the config that goes by them. */
export class Wires implements AsyncDisposable {
  readonly #wires = new Map<number, FaultyWire>();

  get all(): readonly FaultyWire[] {
    return [...this.#wires.values()];
  }

  get passed(): Readonly<Record<Direction, number>> {
    const sum = (direction: Direction): number =>
      this.all.reduce((total, wire) => total + wire.passed[direction], 0);
    return { up: sum('up'), down: sum('down') };
  }

  get isBroken(): boolean {
    return this.all.some((wire) => wire.isBroken);
  }

  arm(fault?: Fault, pace?: Pace): void {
    for (const wire of this.all) wire.arm(fault, pace);
  }

  /** The same gate for all of them. */
  goBy(gate: Gate): void {
    for (const wire of this.all) wire.goBy(gate);
  }

  /** The ports of the servers. */
  get ports(): readonly number[] {
    return [...this.#wires.keys()];
  }

  /** The config with the ports of wires in place of those of servers on this machine. */
  async through(config: JsonObject): Promise<JsonObject> {
    for (const port of portsOf(config))
      if (!this.#wires.has(port)) this.#wires.set(port, await FaultyWire.to(port));
    return this.#rewired(config) as JsonObject;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((wire) => wire[Symbol.asyncDispose]()));
  }

  #rewired(value: JsonValue): JsonValue {
    if (typeof value === 'string')
      return value.replaceAll(ADDRESS, (_, host: string, port: string) =>
        this.#portFor(Number(port)) === undefined
          ? `${host}:${port}`
          : `127.0.0.1:${this.#portFor(Number(port))}`,
      );
    if (Array.isArray(value)) return value.map((one) => this.#rewired(one));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [
        key,
        key === 'port' ? (this.#portFor(Number(one)) ?? one) : this.#rewired(one),
      ]),
    );
  }

  #portFor(port: number): number | undefined {
    return this.#wires.get(port)?.port;
  }
}

const ADDRESS = /(127\.0\.0\.1|localhost|\[::1\]):(\d+)/g;

function portsOf(value: JsonValue): number[] {
  if (typeof value === 'string')
    return [...value.matchAll(ADDRESS)].map(([, , port]) => Number(port));
  if (Array.isArray(value)) return value.flatMap(portsOf);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key === 'port' && typeof one === 'number' ? [one] : portsOf(one),
  );
}
