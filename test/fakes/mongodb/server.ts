/**
 * A small server that speaks MongoDB's wire protocol: one member of a replica set, in memory, with
 * transactions and change streams. Any login is refused.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';
import { CommandError } from './command-error.ts';
import { ChangeLog, oplogEntry } from './change-log.ts';
import { COMMANDS, Cursors, type Data } from './store.ts';

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER = 16;

export interface MongodbServer {
  readonly url: string;
  /** Names of the commands since the last call. */
  commands(): string[];
  readonly openCursors: number;
  readonly changes: ChangeLog;
  close(): Promise<void>;
}

export interface MongodbServerOptions {
  /** A server of its own has no transactions. */
  readonly standalone?: boolean;
  /**
   * What becomes of a command: the connection is cut before or after it, it fails, or it has
   * another answer.
   */
  readonly fault?: (name: string) => Fault | undefined;
}

/** A document is the answer. */
export type Fault = 'cut' | 'cut after' | CommandError | Document;

export async function startMongodbServer(
  options: MongodbServerOptions = {},
): Promise<MongodbServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    serve(socket, (command) => state.answer(command));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state = new ServerState(address, options);
  return {
    url: `mongodb://${address}`,
    commands: () => state.names.splice(0),
    get openCursors() {
      return state.cursors.count + state.changes.open;
    },
    changes: state.changes,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

interface Transaction {
  readonly data: Data;
  /** Of the data when it began. */
  readonly version: number;
}

class ServerState {
  readonly names: string[] = [];
  readonly cursors = new Cursors();
  readonly changes = new ChangeLog();
  readonly #address: string;
  readonly #options: MongodbServerOptions;
  readonly #transactions = new Map<string, Transaction>();
  /** Answers to writes by the numbers that clients give them: one that comes again is not done again. */
  readonly #done = new Map<string, Document>();
  #data: Data = new Map();
  #version = 0;

  constructor(address: string, options: MongodbServerOptions) {
    this.#address = address;
    this.#options = options;
  }

  /** `undefined`: the connection is cut. */
  async answer(command: Document): Promise<Document | undefined> {
    const [name = ''] = Object.keys(command);
    const isGreeting = /^(?:hello|ismaster)$/i.test(name);
    if (isGreeting) return this.#greeting();
    this.names.push(name);
    const fault = this.#options.fault?.(name);
    if (fault === 'cut') return undefined;
    try {
      if (fault instanceof CommandError) throw fault;
      if (typeof fault === 'object') return fault;
      const answer = { ...(await this.#run(name, command)), ok: 1 };
      return fault === 'cut after' ? undefined : answer;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      const { code, message, labels } = error;
      return { ok: 0, code, errmsg: message, codeName: `Code${code}`, errorLabels: [...labels] };
    }
  }

  #greeting(): Document {
    const member = {
      setName: 'rs0',
      hosts: [this.#address],
      primary: this.#address,
      me: this.#address,
      setVersion: 1,
    };
    return {
      ok: 1,
      helloOk: true,
      isWritablePrimary: true,
      ismaster: true,
      maxBsonObjectSize: 16_777_216,
      maxMessageSizeBytes: 48_000_000,
      maxWriteBatchSize: 100_000,
      logicalSessionTimeoutMinutes: 30,
      minWireVersion: 0,
      maxWireVersion: 21,
      ...(this.#options.standalone === true ? {} : member),
    };
  }

  #run(name: string, command: Document): Document | Promise<Document> {
    if (/^(?:ping|endSessions)$/.test(name)) return {};
    if (name === 'aggregate') return this.#stream(command);
    if (name === 'getMore' && this.changes.has(command['getMore']))
      return this.changes.more(command, () => this.#data);
    if (name === 'killCursors') this.changes.kill(command['cursors'] as unknown[]);
    if (name === 'saslStart') throw new CommandError(18, 'Authentication failed.');
    if (name === 'connectionStatus') return { authInfo: { authenticatedUsers: [] } };
    if (command['autocommit'] === false) return this.#inTransaction(name, command);
    const { lsid, txnNumber } = command;
    if (txnNumber === undefined) return this.#change(name, command);
    const key = BSON.EJSON.stringify([lsid, txnNumber]);
    const answer = this.#done.get(key) ?? this.#change(name, command);
    this.#done.set(key, answer);
    return answer;
  }

  #stream(command: Document): Document {
    if (this.#options.standalone === true)
      throw new CommandError(40_573, 'The $changeStream stage is only supported on replica sets');
    return this.changes.aggregate(command, this.#data);
  }

  #change(name: string, command: Document): Document {
    if (command['$db'] === 'local' && command['find'] === 'oplog.rs')
      return this.cursors.give('local.oplog.rs', [oplogEntry()], 1);
    const before = new Map(this.#data);
    if (/^(?:insert|update|delete|create|drop|rename)/.test(name)) this.#version += 1;
    const answer = runOn(this.#data, name, command, this.cursors);
    if (!isReading(name)) this.changes.record(before, this.#data, command);
    return answer;
  }

  #inTransaction(name: string, command: Document): Document {
    if (this.#options.standalone === true)
      throw new CommandError(
        20,
        'Transaction numbers are only allowed on a replica set member or mongos',
      );
    const id = BSON.EJSON.stringify(command['lsid'] as Document);
    if (command['startTransaction'] === true)
      this.#transactions.set(id, { data: new Map(this.#data), version: this.#version });
    const transaction = this.#transactions.get(id);
    const committed = `${id} ${BSON.EJSON.stringify([command['txnNumber']])}`;
    if (name === 'commitTransaction' && this.#done.has(committed)) return {};
    if (transaction === undefined) throw new CommandError(251, 'no such transaction', TRANSIENT);
    if (name === 'abortTransaction') {
      this.#transactions.delete(id);
      return {};
    }
    if (name !== 'commitTransaction') return runOn(transaction.data, name, command, this.cursors);
    const answer = this.#commit(id, transaction);
    this.#done.set(committed, answer);
    return answer;
  }

  /** Whoever changed anything meanwhile was in the way: coarser than the real server. */
  #commit(id: string, { data, version }: Transaction): Document {
    this.#transactions.delete(id);
    if (version !== this.#version) throw new CommandError(112, 'WriteConflict', TRANSIENT);
    this.changes.record(this.#data, data, {});
    this.#data = data;
    this.#version += 1;
    return {};
  }
}

function isReading(name: string): boolean {
  return /^(?:find|getMore|killCursors|count|list)/.test(name);
}

const TRANSIENT = ['TransientTransactionError'];

// oxlint-disable-next-line max-params
function runOn(data: Data, name: string, command: Document, cursors: Cursors): Document {
  const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (run === undefined) throw new CommandError(59, `no such command: '${name}'`);
  return run(data, command, cursors);
}

/** Takes messages off the socket and answers them in their order. */
function serve(socket: Socket, answer: Answering): void {
  let pending = Buffer.alloc(0);
  let answered = Promise.resolve();
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER && pending.length >= pending.readInt32LE(0)) {
      const length = pending.readInt32LE(0);
      const message = pending.subarray(0, length);
      answered = answered.then(() => respond(socket, message, answer));
      pending = pending.subarray(length);
    }
  });
}

type Answering = (command: Document) => Promise<Document | undefined>;

async function respond(socket: Socket, message: Buffer, answer: Answering): Promise<void> {
  const isOld = message.readInt32LE(12) === OP_QUERY;
  const command = isOld ? queryOf(message) : commandOf(message);
  const answered = await answer(command);
  if (answered === undefined) {
    socket.destroy();
    return;
  }
  const body = BSON.serialize(answered);
  const head = isOld ? Buffer.alloc(20) : Buffer.alloc(5);
  if (isOld) head.writeInt32LE(1, 16);
  const header = Buffer.alloc(HEADER);
  header.writeInt32LE(HEADER + head.length + body.length, 0);
  header.writeInt32LE(message.readInt32LE(4), 8);
  header.writeInt32LE(isOld ? OP_REPLY : OP_MSG, 12);
  if (!socket.destroyed) socket.write(Buffer.concat([header, head, body]));
}

/** Values keep their types: what is stored is what came. */
function read(bytes: Uint8Array): Document {
  return BSON.deserialize(bytes, { promoteValues: false, promoteLongs: false, bsonRegExp: true });
}

/** The first greeting comes in the form of old servers. */
function queryOf(message: Buffer): Document {
  const name = message.indexOf(0, HEADER + 4);
  return read(message.subarray(name + 1 + 8));
}

function commandOf(message: Buffer): Document {
  let at = HEADER + 4;
  let command: Document = {};
  while (at < message.length) {
    const kind = message[at];
    const size = message.readInt32LE(at + 1);
    const section = message.subarray(at + 1, at + 1 + size);
    at += 1 + size;
    if (kind === 0) command = { ...command, ...read(section) };
    else Object.assign(command, sequenceOf(section));
  }
  return plain(command);
}

/** Documents that stand beside the command: `documents`, `updates`, `deletes`. */
function sequenceOf(section: Buffer): Document {
  const end = section.indexOf(0, 4);
  const name = section.subarray(4, end).toString();
  const documents: Document[] = [];
  for (let at = end + 1; at < section.length; at += section.readInt32LE(at))
    documents.push(read(section.subarray(at, at + section.readInt32LE(at))));
  return { [name]: documents };
}

/** What the server itself looks at. */
function plain(command: Document): Document {
  return Object.fromEntries(
    Object.entries(command).map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null && '_bsontype' in value && name !== 'getMore'
        ? (value as { valueOf(): unknown }).valueOf()
        : (value as unknown),
    ]),
  );
}
