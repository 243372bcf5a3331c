/** One connection to the server of the tests: messages of TTC on one side, PostgreSQL on the other. */
import type { Socket } from 'node:net';
import { Client, type FieldDef, type QueryArrayResult } from 'pg';
import { Bytes, MoreNeeded, Reader } from './bytes.ts';
import { ERRORS, OWNER } from './catalog.ts';
import { Login, type Pair } from './login.ts';
import { MARK, PACKET, Packets, serviceIn, type Packet } from './packets.ts';
import { translate, Untranslatable, type Translated } from './translate.ts';
import {
  isDefined,
  parseType,
  readBound,
  typeOfBehind,
  writeValue,
  ZONE_MINUTES,
  type Bound,
  type BoundValue,
  type Wanted,
  type WireType,
} from './types.ts';

const MESSAGE = {
  protocol: 1,
  dataTypes: 2,
  function: 3,
  error: 4,
  rowHeader: 6,
  rowData: 7,
  parameters: 8,
  status: 9,
  lobData: 14,
  describe: 16,
  piggyback: 17,
};
const FUNCTION = {
  reexecute: 4,
  fetch: 5,
  logoff: 9,
  commit: 14,
  rollback: 15,
  reexecuteAndFetch: 78,
  execute: 94,
  lob: 96,
  closeCursors: 105,
  loginAnswer: 115,
  login: 118,
  cancelCursors: 120,
  ping: 147,
};
const OPTION = {
  parse: 1,
  define: 0x10,
  execute: 0x20,
  fetch: 0x40,
  commit: 0x100,
  describe: 0x20000,
};
const LOB = { write: 0x40, createTemp: 0x110, freeTemp: 0x111, chunkSize: 0x4000, many: 0x80000 };
/** That of Oracle 23.1: with booleans, before requests had numbers. */
const FIELD_VERSION = 17;
const VERSION = (23 << 24) | (4 << 16);
const UTF8 = 873;
const NATIONAL = 2000;
const IN_TRANSACTION = 2;
const NO_MORE_ROWS = 1403;
const CANCELLED = 1013;
const LONG_TEXT = 4000;
const CHUNK_SIZE = 8060;
const LOCATOR_BYTES = 40;
const MOST_SHORT_BYTES = 32_767;

/** The error that the server gives in place of an answer; `cut` ends the connection. */
export type Watched = number | 'cut' | undefined | Promise<number | 'cut' | undefined>;

export interface Door {
  readonly user: string;
  readonly password: string;
  /** The address of a database behind; `undefined` where there is none of that name. */
  behind(this: void, service: string): string | undefined;
  /** Looks at each statement before it runs; a number is the error that the server gives. */
  watch?: ((statement: string) => Watched) | undefined;
}

class ServerError extends Error {
  readonly number: number;

  constructor(number: number, message: string) {
    super(message);
    this.number = number;
  }
}

interface Cursor {
  sql: string;
  bounds: readonly Bound[];
  columns: readonly (WireType & { readonly name: string; readonly isNullable: boolean })[];
  rows: readonly (readonly (string | null)[])[];
  next: number;
  wanted: readonly Wanted[];
}

interface Execution {
  readonly options: number;
  readonly cursor: Cursor;
  readonly id: number;
  readonly rows: readonly (readonly BoundValue[])[];
  readonly fetches: number;
}

type Row = readonly (string | null)[];

export class Session {
  service = '';
  readonly #socket: Socket;
  readonly #door: Door;
  readonly #packets: Packets;
  #awaitsConnect = true;
  #message = Buffer.alloc(0);
  #work: Promise<void> = Promise.resolve();
  #client: Client | undefined;
  #address = '';
  #login: Login | undefined;
  #cursors = new Map<number, Cursor>();
  #lobs = new Map<string, Buffer>();
  #lastId = 0;
  #inTransaction = false;
  #isBusy = false;
  /** An answer is not sent any more, because the client has asked to stop. */
  #isStopped = false;
  #isClosed = false;

  constructor(socket: Socket, door: Door) {
    this.#socket = socket;
    this.#door = door;
    this.#packets = new Packets(socket, (packet) => this.#take(packet));
    socket.on('error', () => {});
    socket.on('close', () => void this.close());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#socket.destroy();
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    // What runs for nobody is ended, and its transaction with it.
    if (this.#isBusy) await this.#cancelBehind(client);
    await client.end().catch(() => {});
  }

  #take(packet: Packet): void {
    if (this.#awaitsConnect) {
      this.#connect(packet);
      return;
    }
    if (packet.isLast) {
      this.#socket.end();
      return;
    }
    if (packet.type === PACKET.marker) {
      this.#mark(packet.body[2] ?? 0);
      return;
    }
    this.#message = Buffer.concat([this.#message, packet.body]);
    let request: (() => Promise<Buffer>) | undefined;
    try {
      request = this.#request(new Reader(this.#message));
    } catch (error) {
      if (error instanceof MoreNeeded && packet.isFull) return;
      this.#socket.destroy(error as Error);
      return;
    }
    this.#message = Buffer.alloc(0);
    this.#work = this.#work.then(() => this.#answer(request));
  }

  #connect({ type, body }: Packet): void {
    const asked = type === PACKET.connect ? serviceIn(body) : namedIn(body);
    // A long address comes in a packet of its own.
    if (asked === undefined) return;
    const address = this.#door.behind(asked.name ?? '');
    if (address === undefined) {
      this.#packets.refuse(12_514);
      this.#socket.end();
      return;
    }
    this.service = asked.name ?? '';
    this.#address = address;
    this.#awaitsConnect = false;
    this.#packets.accept();
  }

  #mark(kind: number): void {
    if (kind === MARK.reset) {
      // The answer of what was stopped comes after the mark.
      this.#work = this.#work.then(() => {
        this.#isStopped = false;
        this.#packets.mark(MARK.reset);
        this.#packets.message(
          this.#ended(new ServerError(CANCELLED, 'user requested cancel of current operation')),
        );
      });
      return;
    }
    this.#isStopped = true;
    this.#packets.mark(MARK.break);
    if (this.#isBusy && this.#client !== undefined) void this.#cancelBehind(this.#client);
  }

  async #answer(request: () => Promise<Buffer>): Promise<void> {
    this.#isBusy = true;
    let answer: Buffer | undefined;
    try {
      answer = await request();
    } catch (error) {
      if (error instanceof Cut) {
        this.#socket.destroy();
        return;
      }
      answer = this.#ended(serverError(error));
    } finally {
      this.#isBusy = false;
    }
    if (!this.#isStopped && !this.#isClosed) this.#packets.message(answer);
  }

  /** Reads a whole message; what it asks for is done later, in turn. */
  #request(input: Reader): () => Promise<Buffer> {
    const kind = input.u8();
    switch (kind) {
      case MESSAGE.protocol:
        return async () => protocolAnswer();
      case MESSAGE.dataTypes:
        readDataTypes(input);
        return async () => dataTypesAnswer();
      case MESSAGE.piggyback:
        this.#piggyback(input);
        return this.#request(input);
      case MESSAGE.function:
        return this.#function(input);
      default:
        throw new Error(`the server of the tests reads no messages of kind ${kind}`);
    }
  }

  #piggyback(input: Reader): void {
    const code = input.u8();
    input.u8();
    switch (code) {
      case FUNCTION.closeCursors:
      case FUNCTION.cancelCursors: {
        input.u8();
        const count = input.whole();
        for (let at = 0; at < count; at += 1) {
          const id = input.whole();
          if (code === FUNCTION.closeCursors) this.#cursors.delete(id);
        }
        return;
      }
      case FUNCTION.lob: {
        input.u8();
        const size = input.whole();
        for (let at = 0; at < 7; at += 1) input.whole();
        const operation = input.whole();
        if (operation !== (LOB.freeTemp | LOB.many)) throw new Error(`piggyback ${operation}`);
        for (let at = 0; at < 11; at += 1) input.whole();
        const locators = input.take(size);
        for (let at = 0; at < size; at += LOCATOR_BYTES)
          this.#lobs.delete(locators.subarray(at, at + LOCATOR_BYTES).toString('hex'));
        return;
      }
      default:
        throw new Error(`the server of the tests knows no function ${code}`);
    }
  }

  #function(input: Reader): () => Promise<Buffer> {
    const code = input.u8();
    input.u8();
    switch (code) {
      case FUNCTION.login:
        return this.#loginRequest(input);
      case FUNCTION.loginAnswer:
        return this.#loginAnswer(input);
      case FUNCTION.execute: {
        const execution = this.#readExecute(input);
        return () => this.#execute(execution);
      }
      case FUNCTION.reexecute:
      case FUNCTION.reexecuteAndFetch: {
        const execution = this.#readAgain(input);
        return () => this.#execute(execution);
      }
      case FUNCTION.fetch: {
        const [id, count] = [input.whole(), input.whole()];
        return async () => this.#fetched(new Bytes(), id, count);
      }
      case FUNCTION.lob:
        return this.#lob(input);
      case FUNCTION.commit:
        return () => this.#end('COMMIT');
      case FUNCTION.rollback:
        return () => this.#end('ROLLBACK');
      case FUNCTION.ping:
      case FUNCTION.logoff:
        return async () => this.#status();
      default:
        throw new Error(`the server of the tests knows no function ${code}`);
    }
  }

  #loginRequest(input: Reader): () => Promise<Buffer> {
    readUser(input);
    return async () => {
      this.#login = new Login(this.#door.password);
      return Buffer.concat([parameters(this.#login.challenge()), this.#status()]);
    };
  }

  #loginAnswer(input: Reader): () => Promise<Buffer> {
    const { user, pairs } = readUser(input);
    return async () => {
      const proof = this.#login?.answer(pairs);
      if (proof === undefined || user.toUpperCase() !== this.#door.user.toUpperCase())
        throw new ServerError(1017, 'invalid credential or not authorized; logon denied');
      const client = new Client({ connectionString: this.#address, types: AS_TEXT });
      client.on('error', () => {});
      await client.connect();
      await client.query(`SET search_path = "${OWNER}", ora`);
      await client.query(`SET bytea_output = 'hex'`);
      this.#client = client;
      const told = {
        AUTH_SVR_RESPONSE: proof,
        AUTH_VERSION_NO: String(VERSION),
        AUTH_MAX_OPEN_CURSORS: '300',
        AUTH_MAX_IDEN_LENGTH: '128',
        AUTH_SC_SERVICE_NAME: this.service,
        AUTH_DBNAME: this.service,
      };
      const answer = Object.entries(told).map(([key, value]) => ({ key, value }));
      return Buffer.concat([parameters(answer), this.#status()]);
    };
  }

  #readExecute(input: Reader): Execution {
    const options = input.whole();
    let id = input.whole();
    const isNew = input.u8() === 1;
    input.whole();
    skip(input, 'bwbbb');
    const fetches = input.whole();
    skip(input, 'wb');
    const binds = input.whole();
    skip(input, 'bbbbbb');
    const defines = input.whole();
    skip(input, 'wbbbwbwwbwbbwbwbbw');
    const sql = isNew ? (input.sized()?.toString() ?? '') : '';
    input.whole();
    const times = input.whole();
    const more = Array.from({ length: 11 }, () => input.whole());
    const isQuery = more[5] === 1;
    const known = this.#cursors.get(id);
    if (!isNew && known === undefined) throw new Error(`there is no cursor ${id}`);
    const cursor: Cursor = isNew ? newCursor(sql) : (known as Cursor);
    if (isNew) id = this.#lastId + 1;
    const described = Array.from({ length: binds + defines }, () => readBoundType(input));
    if (defines > 0) cursor.wanted = described.slice(binds);
    if (binds > 0) cursor.bounds = described;
    const rows = this.#boundRows(input, cursor, binds === 0 ? 0 : isQuery ? 1 : times);
    // From here on nothing is missing of the message.
    if (isNew) {
      this.#lastId = id;
      this.#cursors.set(id, cursor);
    }
    return { options, cursor, id, rows, fetches };
  }

  #readAgain(input: Reader): Execution {
    const [id, times, execFlags, endFlags] = [
      input.whole(),
      input.whole(),
      input.whole(),
      input.whole(),
    ];
    const cursor = this.#cursors.get(id);
    if (cursor === undefined) throw new Error(`there is no cursor ${id}`);
    const isQuery = (execFlags & OPTION.execute) !== 0;
    const rows = this.#boundRows(
      input,
      cursor,
      cursor.bounds.length === 0 ? 0 : isQuery ? 1 : times,
    );
    const commits = (endFlags & 1) !== 0 ? OPTION.commit : 0;
    const options = OPTION.execute | commits | (isQuery ? OPTION.fetch : 0);
    return { options, cursor, id, rows, fetches: isQuery ? times : 0 };
  }

  #boundRows(input: Reader, { bounds }: Cursor, times: number): BoundValue[][] {
    const rows: BoundValue[][] = [];
    const lobOf = (locator: Buffer): Buffer =>
      this.#lobs.get(locator.toString('hex')) ?? Buffer.alloc(0);
    for (let at = 0; at < times; at += 1) {
      if (input.u8() !== MESSAGE.rowData) throw new Error('rows of values were expected');
      const row: BoundValue[] = [];
      // What is long comes after what is not.
      for (const isLong of [false, true])
        for (const [place, bound] of bounds.entries())
          if (bound.size > MOST_SHORT_BYTES === isLong) row[place] = readBound(input, bound, lobOf);
      rows.push(row);
    }
    return rows;
  }

  async #execute({ options, cursor, id, rows, fetches }: Execution): Promise<Buffer> {
    if ((options & OPTION.define) !== 0) return this.#done(id, 0);
    const watched = await this.#door.watch?.(cursor.sql);
    if (watched === 'cut') throw new Cut();
    if (watched !== undefined) throw new ServerError(watched, 'the tests refuse this statement');
    if ((options & OPTION.describe) !== 0) {
      const { sql } = translate(cursor.sql, () => 'NULL');
      const { fields } = await this.#undone(() =>
        this.#query(`SELECT * FROM (${sql}) AS described LIMIT 0`, []),
      );
      cursor.columns = await this.#columnsOf(fields);
      const out = new Bytes();
      describe(out, cursor);
      return out.raw(this.#done(id, 0)).done();
    }
    const { kind, sql } = translate(cursor.sql, () => 'NULL');
    switch (kind) {
      case 'setting':
        return this.#done(id, 0);
      case 'definition':
        await this.#define(cursor.sql);
        return this.#done(id, 0);
      case 'lock':
        await this.#begin();
        await this.#undone(() => this.#query(sql, []));
        return this.#done(id, 0);
      case 'change': {
        const changed = await this.#change(cursor.sql, rows.length === 0 ? [[]] : rows);
        if ((options & OPTION.commit) !== 0) await this.#finish('COMMIT');
        return this.#done(id, changed);
      }
      case 'query':
        break;
      default:
        kind satisfies never;
    }
    const bound = bindTo(cursor.sql, rows[0] ?? []);
    if (/\bFOR UPDATE\b/.test(bound.sql)) await this.#begin();
    const result = await this.#undone(() => this.#query(bound.sql, bound.values));
    cursor.rows = result.rows;
    cursor.next = 0;
    const out = new Bytes();
    // A statement that runs again is not described again, and its values are wanted as before.
    if ((options & OPTION.parse) !== 0) {
      cursor.columns = await this.#columnsOf(result.fields);
      describe(out, cursor);
    }
    const waits = cursor.columns.some(isDefined);
    if (waits || (options & OPTION.fetch) === 0) return out.raw(this.#done(id, 0)).done();
    return this.#fetched(out, id, fetches);
  }

  #fetched(out: Bytes, id: number, count: number): Buffer {
    const cursor = this.#cursors.get(id);
    if (cursor === undefined) throw new ServerError(1001, 'invalid cursor');
    const rows = cursor.rows.slice(cursor.next, cursor.next + count);
    if (rows.length > 0)
      out.u8(MESSAGE.rowHeader).u8(0).whole(0).whole(0).whole(0).whole(0).whole(0).whole(0);
    for (const row of rows) {
      out.u8(MESSAGE.rowData);
      for (const [at, column] of cursor.columns.entries())
        writeValue(out, column, row[at] ?? null, cursor.wanted[at]);
    }
    cursor.next += rows.length;
    const isOver = cursor.next >= cursor.rows.length && rows.length < count;
    return out.raw(this.#done(id, cursor.next, isOver ? NO_MORE_ROWS : 0, 'no data found')).done();
  }

  /** Values of more bytes can only be inserted, or have to be LOBs. */
  async #change(statement: string, rows: readonly (readonly BoundValue[])[]): Promise<number> {
    const isPlainInsert = /^\s*INSERT\b[^]*\bVALUES\b/i.test(statement);
    if (!isPlainInsert && hasLongValues(rows))
      throw new ServerError(1461, 'can bind a LONG value only for insert into a LONG column');
    await this.#begin();
    return this.#undone(async () => {
      let changed = 0;
      for (const row of rows) {
        const { sql, values } = bindTo(statement, row);
        changed += (await this.#query(sql, values)).rowCount ?? 0;
      }
      return changed;
    });
  }

  /** A statement that fails is undone, and the transaction goes on. */
  async #undone<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#inTransaction) return work();
    await this.#query('SAVEPOINT statement', []);
    try {
      const result = await work();
      await this.#query('RELEASE SAVEPOINT statement', []);
      return result;
    } catch (error) {
      await this.#query('ROLLBACK TO SAVEPOINT statement', []);
      throw error;
    }
  }

  /** Commits before and after, as Oracle does. */
  async #define(statement: string): Promise<void> {
    await this.#finish('COMMIT');
    const translated = translate(statement, () => 'NULL');
    await this.#query(translated.sql, []);
    await this.#noteTypes(translated);
  }

  async #noteTypes({ types }: Translated): Promise<void> {
    if (types === undefined) return;
    for (const [name, type] of types.columns)
      await this.#query(
        `INSERT INTO ora.written_types SELECT '${types.table.replaceAll("'", "''")}'::regclass::oid, $1, $2
         ON CONFLICT (relid, name) DO UPDATE SET type = EXCLUDED.type`,
        [name, type],
      );
  }

  async #columnsOf(fields: readonly FieldDef[]): Promise<Cursor['columns']> {
    const tables = [...new Set(fields.map(({ tableID }) => tableID))].filter((id) => id !== 0);
    const { rows } = await this.#query(
      `SELECT a.attrelid, a.attnum, w.type, a.attnotnull FROM pg_attribute AS a LEFT JOIN ora.written_types AS w ON w.relid = a.attrelid AND w.name = a.attname
       WHERE a.attrelid = ANY ($1::oid[])`,
      [`{${tables.join(',')}}`],
    );
    const known = new Map(
      (rows as unknown as readonly Row[]).map(([table, at, type, isFull]) => [
        `${table}.${at}`,
        { type: type === null ? undefined : parseType(type ?? ''), isNullable: isFull !== 't' },
      ]),
    );
    return fields.map(({ name, tableID, columnID, dataTypeID }) => {
      const column = known.get(`${tableID}.${columnID}`);
      return {
        ...(column?.type?.wire ?? typeOfBehind(dataTypeID)),
        name,
        isNullable: column?.isNullable ?? true,
      };
    });
  }

  #lob(input: Reader): () => Promise<Buffer> {
    input.u8();
    const size = input.whole();
    input.u8();
    for (let at = 0; at < 3; at += 1) input.whole();
    for (let at = 0; at < 3; at += 1) input.u8();
    const operation = input.whole();
    input.u8();
    input.u8();
    input.whole();
    input.whole();
    const hasAmount = input.u8() === 1;
    input.take(6);
    let locator = Buffer.from(input.take(size));
    switch (operation) {
      case LOB.createTemp: {
        input.whole();
        return async () => {
          locator = Buffer.alloc(LOCATOR_BYTES);
          locator.writeUInt32BE((this.#lastId += 1), 8);
          this.#lobs.set(locator.toString('hex'), Buffer.alloc(0));
          return new Bytes()
            .u8(MESSAGE.parameters)
            .raw(locator)
            .whole(UTF8)
            .u8(0)
            .raw(this.#status())
            .done();
        };
      }
      case LOB.write: {
        if (input.u8() !== MESSAGE.lobData) throw new Error('the bytes of a LOB were expected');
        const bytes = Buffer.from(input.sized() ?? Buffer.alloc(0));
        return async () => {
          this.#lobs.set(locator.toString('hex'), bytes);
          return new Bytes().u8(MESSAGE.parameters).raw(locator).raw(this.#status()).done();
        };
      }
      case LOB.chunkSize:
        if (hasAmount) input.whole();
        return async () =>
          new Bytes()
            .u8(MESSAGE.parameters)
            .raw(locator)
            .whole(CHUNK_SIZE)
            .raw(this.#status())
            .done();
      default:
        throw new Error(`the server of the tests knows no operation ${operation} of LOBs`);
    }
  }

  async #end(how: 'COMMIT' | 'ROLLBACK'): Promise<Buffer> {
    const watched = await this.#door.watch?.(how);
    if (watched === 'cut') throw new Cut();
    if (watched !== undefined) {
      await this.#finish('ROLLBACK');
      throw new ServerError(watched, 'the tests refuse this');
    }
    await this.#finish(how);
    return this.#status();
  }

  async #begin(): Promise<void> {
    if (this.#inTransaction) return;
    await this.#query('BEGIN', []);
    this.#inTransaction = true;
  }

  async #finish(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    if (!this.#inTransaction) return;
    this.#inTransaction = false;
    await this.#query(how, []);
  }

  async #query(sql: string, values: readonly (string | null)[]): Promise<QueryArrayResult> {
    const client = this.#client;
    if (client === undefined) throw new ServerError(1012, 'not logged on');
    return client.query({ text: sql, values: [...values], rowMode: 'array' });
  }

  async #cancelBehind(client: Client): Promise<void> {
    const { processID } = client as unknown as { readonly processID?: number };
    const other = new Client({ connectionString: this.#address });
    try {
      await other.connect();
      await other.query('SELECT pg_cancel_backend($1)', [processID ?? 0]);
    } catch {
      // The statement ends by itself.
    } finally {
      await other.end().catch(() => {});
    }
  }

  #status(): Buffer {
    return new Bytes()
      .u8(MESSAGE.status)
      .whole(this.#inTransaction ? IN_TRANSACTION : 0)
      .whole(0)
      .done();
  }

  #ended({ number, message }: ServerError): Buffer {
    return this.#done(0, 0, number, message);
  }

  #done(cursor: number, rows: number, error = 0, message = ''): Buffer {
    const out = new Bytes().u8(MESSAGE.error).whole(this.#inTransaction ? IN_TRANSACTION : 0);
    for (let at = 0; at < 5; at += 1) out.whole(0);
    out.whole(cursor).whole(0);
    for (let at = 0; at < 6; at += 1) out.u8(0);
    // The id of the last row, which nobody asks for.
    out.whole(0).whole(0).u8(0).whole(0).whole(0);
    out.whole(0).u8(0).u8(0).whole(0).whole(0).whole(0).whole(0).whole(0).whole(0);
    out.whole(error).whole(rows).whole(0).whole(0);
    if (error !== 0) out.sized(Buffer.from(`ORA-${String(error).padStart(5, '0')}: ${message}\n`));
    return out.done();
  }
}

class Cut extends Error {}

function hasLongValues(rows: readonly (readonly BoundValue[])[]): boolean {
  return rows.some((row) =>
    row.some(({ value, isLob }) => isLob !== true && Buffer.byteLength(value ?? '') > LONG_TEXT),
  );
}

const AS_TEXT = { getTypeParser: () => (text: string | Buffer) => String(text) } as never;

function newCursor(sql: string): Cursor {
  return { sql, bounds: [], columns: [], rows: [], next: 0, wanted: [] };
}

/** The statement with a place for each value, in their order. */
function bindTo(
  statement: string,
  row: readonly BoundValue[],
): { readonly sql: string; readonly values: (string | null)[] } {
  const values: (string | null)[] = [];
  const { sql } = translate(statement, (name) => {
    const bound = row[values.length];
    if (bound === undefined) throw new ServerError(1008, `not all variables bound: ${name}`);
    values.push(bound.value);
    return `$${values.length}::${bound.cast}`;
  });
  return { sql, values };
}

function serverError(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  if (error instanceof Untranslatable) return new ServerError(error.number, error.message);
  const { code, message } = error as { readonly code?: string; readonly message: string };
  const [number, text] = ERRORS[code ?? ''] ?? [];
  if (number === undefined) return new ServerError(600, `internal error: ${code} ${message}`);
  const about = /"([^"]+)"/.exec(message)?.[1];
  if (number === 904) return new ServerError(number, `"${about ?? '?'}": invalid identifier`);
  return new ServerError(number, `${text}${about === undefined ? '' : ` (${about})`}`);
}

function namedIn(body: Buffer): { readonly name?: string } {
  const [, name] = /\((?:SERVICE_NAME|SID)=([^)]*)\)/i.exec(body.toString()) ?? [];
  return name === undefined ? {} : { name };
}

function protocolAnswer(): Buffer {
  const compiled = Buffer.alloc(53);
  compiled[7] = FIELD_VERSION;
  // The zone of the database is told; texts have up to 32,767 bytes.
  const running = Buffer.from([2, 1, 0, 0, 0, 0, 4]);
  const national = Buffer.alloc(16);
  national.writeUInt16BE(NATIONAL, 9);
  return new Bytes()
    .u8(MESSAGE.protocol)
    .u8(6)
    .u8(0)
    .raw(Buffer.from('server of the tests\0'))
    .u16le(UTF8)
    .u8(1)
    .u16le(0)
    .u16(national.length)
    .raw(national)
    .sized(compiled)
    .sized(running)
    .done();
}

function readDataTypes(input: Reader): void {
  input.take(5);
  input.sized();
  const running = input.sized();
  if (running?.[1] === 1) input.take(11);
  while (input.u16() !== 0) input.take(6);
}

function dataTypesAnswer(): Buffer {
  const zone = Buffer.alloc(11);
  zone.writeUInt32BE(0x80000000);
  zone[4] = 60 + Math.trunc(ZONE_MINUTES / 60);
  zone[5] = 60 + (ZONE_MINUTES % 60);
  zone[6] = 0x80;
  return new Bytes().u8(MESSAGE.dataTypes).raw(zone).u16(0).done();
}

function readUser(input: Reader): {
  readonly user: string;
  readonly pairs: ReadonlyMap<string, string>;
} {
  const hasUser = input.u8() === 1;
  input.whole();
  input.whole();
  input.u8();
  const count = input.whole();
  input.u8();
  input.u8();
  const user = hasUser ? (input.sized()?.toString() ?? '') : '';
  return { user, pairs: new Map(Array.from({ length: count }, () => input.pair())) };
}

function parameters(pairs: readonly Pair[]): Buffer {
  const out = new Bytes().u8(MESSAGE.parameters).whole(pairs.length);
  for (const { key, value, flag = 0 } of pairs) out.named(key).named(value).whole(flag);
  return out.done();
}

/** Fields that mean nothing here: bytes (`b`) and whole numbers (`w`). */
function skip(input: Reader, fields: string): void {
  for (const field of fields)
    if (field === 'b') input.u8();
    else input.whole();
}

function readBoundType(input: Reader): Bound & Wanted {
  const num = input.u8();
  input.take(3);
  const size = input.whole();
  input.whole();
  input.whole();
  input.whole();
  input.whole();
  input.whole();
  const form = input.u8();
  input.whole();
  input.whole();
  return { num, form, size };
}

function describe(out: Bytes, { columns }: Cursor): void {
  out.u8(MESSAGE.describe).u8(0).whole(0).whole(columns.length);
  if (columns.length > 0) out.u8(0);
  for (const { num, form, precision, scale, size, name, isNullable } of columns) {
    out
      .u8(num)
      .u8(0)
      .u8(precision)
      .u8(scale)
      .whole(size)
      .whole(0)
      .whole(0)
      .whole(0)
      .whole(0)
      .whole(0);
    out
      .u8(form)
      .whole(size)
      .whole(0)
      .u8(isNullable ? 1 : 0)
      .u8(0);
    out.named(name).whole(0).whole(0).whole(0).whole(0).whole(0).whole(0);
  }
  out.whole(0).whole(0).whole(0).whole(0).whole(0).whole(0);
}
