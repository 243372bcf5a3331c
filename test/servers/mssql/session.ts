/** One connection to the server of the tests: messages of TDS on one side, PostgreSQL on the other. */
import type { Socket } from 'node:net';
import { Client, type FieldDef, type QueryArrayResult } from 'pg';
import { Bytes, Reader } from './bytes.ts';
import { NUMBERS } from './catalog.ts';
import { statementsOf, translate, type Translated } from './translate.ts';
import {
  parseType,
  readSent,
  readTypeInfo,
  writeTypeInfo,
  writeValue,
  type SentValue,
  type WireType,
} from './types.ts';

const MESSAGE = {
  batch: 1,
  rpc: 3,
  answer: 4,
  attention: 6,
  load: 7,
  transaction: 14,
  login: 16,
  prelogin: 18,
};
const PACKET_BYTES = 4096;
const HEAD = 8;
const DONE = 0xfd;
const DONE_IN_PROC = 0xff;
const DONE_PROC = 0xfe;
const STATUS = { more: 1, error: 2, count: 0x10, attention: 0x20 };

/** The error that the server gives in place of an answer. */
export type Watched = number | undefined | Promise<number | undefined>;

export interface Door {
  readonly user: string;
  readonly password: string;
  /** The address of a database behind; `undefined` where there is none of that name. */
  behind(this: void, database: string): string | undefined;
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

export class Session {
  /** Its name, when somebody has logged in. */
  database = '';
  readonly #socket: Socket;
  readonly #door: Door;
  #input = Buffer.alloc(0);
  #message: Buffer[] = [];
  #work: Promise<void> = Promise.resolve();
  #client: Client | undefined;
  #address = '';
  #inTransaction = false;
  #isBusy = false;
  #isCancelled = false;
  #load: { readonly table: string } | undefined;
  #insertsIdentity = false;

  constructor(socket: Socket, door: Door) {
    this.#socket = socket;
    this.#door = door;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', () => {});
    socket.on('close', () => void this.close());
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    // What runs for nobody is ended, and its transaction with it.
    if (this.#isBusy) await this.#cancelBehind();
    await client.end().catch(() => {});
  }

  #take(chunk: Buffer): void {
    this.#input = Buffer.concat([this.#input, chunk]);
    for (;;) {
      if (this.#input.length < HEAD) return;
      const size = this.#input.readUInt16BE(2);
      if (this.#input.length < size) return;
      const packet = this.#input.subarray(0, size);
      this.#input = this.#input.subarray(size);
      this.#message.push(packet.subarray(HEAD));
      if (((packet[1] ?? 0) & 1) === 0) continue;
      const body = Buffer.concat(this.#message);
      this.#message = [];
      const type = packet[0] ?? 0;
      if (type === MESSAGE.attention) void this.#attention();
      else this.#work = this.#work.then(() => this.#handle(type, body)).catch(() => this.close());
    }
  }

  async #attention(): Promise<void> {
    if (!this.#isBusy) {
      this.#send(done(DONE, STATUS.attention));
      return;
    }
    this.#isCancelled = true;
    await this.#cancelBehind();
  }

  async #cancelBehind(): Promise<void> {
    const pid = (this.#client as unknown as { readonly processID?: number } | undefined)?.processID;
    const other = new Client({ connectionString: this.#address });
    try {
      await other.connect();
      await other.query('SELECT pg_cancel_backend($1)', [pid ?? 0]);
    } catch {
      // The statement ends by itself.
    } finally {
      await other.end().catch(() => {});
    }
  }

  #send(body: Buffer): void {
    const room = PACKET_BYTES - HEAD;
    for (let from = 0; from < body.length; from += room) {
      const part = body.subarray(from, from + room);
      const head = Buffer.alloc(HEAD);
      head[0] = MESSAGE.answer;
      head[1] = from + room >= body.length ? 1 : 0;
      head.writeUInt16BE(part.length + HEAD, 2);
      this.#socket.write(Buffer.concat([head, part]));
    }
  }

  async #handle(type: number, body: Buffer): Promise<void> {
    if (type === MESSAGE.prelogin) return this.#send(prelogin());
    if (type === MESSAGE.login) return this.#login(body);
    this.#isBusy = true;
    this.#isCancelled = false;
    const answer = await this.#answer(type, body);
    this.#isBusy = false;
    this.#send(answer);
    // The answer to the request to cancel is a message of its own.
    if (this.#isCancelled) this.#send(done(DONE, STATUS.attention));
  }

  async #login(body: Buffer): Promise<void> {
    const field = (at: number): Buffer => {
      const from = body.readUInt16LE(at);
      return body.subarray(from, from + body.readUInt16LE(at + 2) * 2);
    };
    const user = field(40).toString('utf16le');
    const password = Buffer.from(field(44).map(unscrambled)).toString('utf16le');
    const database = field(68).toString('utf16le');
    const out = new Bytes();
    if (user !== this.#door.user || password !== this.#door.password) {
      errorToken(out, new ServerError(18_456, `Login failed for user '${user}'.`));
      this.#send(out.raw(done(DONE, STATUS.error)).done());
      return;
    }
    const address = this.#door.behind(database);
    const client = new Client({
      connectionString: address ?? '',
      types: { getTypeParser: () => asText },
    });
    client.on('error', () => void this.close());
    try {
      if (address === undefined) throw new Error('none');
      await client.connect();
      await client.query(
        `SET search_path = dbo, sys; SET TimeZone = 'UTC'; SET extra_float_digits = 1`,
      );
    } catch {
      errorToken(
        out,
        new ServerError(
          4060,
          `Cannot open database "${database}" requested by the login. The login failed.`,
        ),
      );
      this.#send(out.raw(done(DONE, STATUS.error)).done());
      return;
    }
    this.#client = client;
    this.#address = address;
    this.database = database;
    envChange(out, 1, new Bytes().shortText(database).shortText('master').done());
    envChange(out, 4, new Bytes().shortText(String(PACKET_BYTES)).shortText('4096').done());
    const ack = new Bytes()
      .u8(1)
      .raw(Buffer.of(0x74, 0, 0, 4))
      .shortText('Tests of Headgate')
      .u8(14)
      .u8(0)
      .u16(0);
    const acked = ack.done();
    out.u8(0xad).u16(acked.length).raw(acked);
    this.#send(out.raw(done(DONE, 0)).done());
  }

  async #answer(type: number, body: Buffer): Promise<Buffer> {
    const out = new Bytes();
    const isCall = type === MESSAGE.rpc;
    try {
      switch (type) {
        case MESSAGE.batch:
          await this.#batch(new Reader(body).skipHeaders(), out);
          break;
        case MESSAGE.rpc:
          await this.#call(new Reader(body).skipHeaders(), out);
          break;
        case MESSAGE.load:
          await this.#loadRows(new Reader(body), out);
          break;
        case MESSAGE.transaction:
          await this.#transaction(new Reader(body).skipHeaders(), out);
          break;
        default:
          throw new ServerError(4002, `The incoming message of type ${type} is not known.`);
      }
    } catch (error) {
      // XACT_ABORT: nothing of the transaction stays.
      if (this.#inTransaction) {
        await this.#client?.query('ROLLBACK').catch(() => {});
        this.#inTransaction = false;
        this.#insertsIdentity = false;
        envChange(out, 10, Buffer.concat([Buffer.of(0, 8), Buffer.alloc(8, 1)]));
      }
      errorToken(out, serverError(error));
      out.raw(done(isCall ? DONE_PROC : DONE, STATUS.error));
    }
    return out.done();
  }

  async #batch(from: Reader, out: Bytes): Promise<void> {
    const text = from.take(from.left).toString('utf16le');
    const load = /^insert bulk (\S+?)\s*\(/i.exec(text);
    if (load !== null) {
      this.#load = { table: load[1] ?? '' };
      out.raw(done(DONE, 0));
      return;
    }
    const statements = statementsOf(text).filter((one) => !this.#isSetting(one));
    if (statements.length === 0) out.raw(done(DONE, 0));
    for (const [at, statement] of statements.entries()) {
      const more = at + 1 < statements.length ? STATUS.more : 0;
      await this.#run(statement, new Map(), out, { token: DONE, more });
    }
  }

  /** Settings change nothing here, but for the one about columns that the server numbers. */
  #isSetting(statement: string): boolean {
    const identity = /^SET\s+IDENTITY_INSERT\s+\S+\s+(ON|OFF)$/i.exec(statement);
    if (identity !== null) this.#insertsIdentity = /^ON$/i.test(identity[1] ?? '');
    return /^set\b/i.test(statement);
  }

  async #call(from: Reader, out: Bytes): Promise<void> {
    const size = from.u16();
    const procedure = size === 0xffff ? from.u16() : from.take(size * 2).toString('utf16le');
    from.u16();
    const values: { readonly name: string; readonly sent: SentValue }[] = [];
    while (from.left > 0) {
      const name = from.shortText();
      from.u8();
      values.push({
        name: name.replace(/^@/, '').toLowerCase(),
        sent: readSent(from, readTypeInfo(from)),
      });
    }
    if (procedure !== 10 && procedure !== 'sp_executesql')
      throw new ServerError(2812, `Could not find stored procedure '${procedure}'.`);
    const [statement, , ...parameters] = values;
    const bound = new Map(
      values.length === 1 ? [] : parameters.map(({ name, sent }) => [name, sent] as const),
    );
    const statements = statementsOf(statement?.sent.value ?? '');
    for (const one of statements)
      await this.#run(one, bound, out, { token: DONE_IN_PROC, more: STATUS.more });
    out.u8(0x79).i32(0).raw(done(DONE_PROC, 0));
  }

  async #run(
    statement: string,
    bound: ReadonlyMap<string, SentValue>,
    out: Bytes,
    end: { readonly token: number; readonly more: number },
  ): Promise<void> {
    const refused = await this.#door.watch?.(statement);
    if (refused !== undefined) throw new ServerError(refused, 'The tests refuse this statement.');
    const values: (string | null)[] = [];
    const places = new Map<string, string>();
    const slot = (name: string): string => {
      const known = places.get(name.toLowerCase());
      if (known !== undefined) return known;
      const sent = bound.get(name.toLowerCase());
      if (sent === undefined)
        throw new ServerError(137, `Must declare the scalar variable "@${name}".`);
      values.push(sent.value);
      const place = `$${values.length}::${sent.cast}`;
      places.set(name.toLowerCase(), place);
      return place;
    };
    const translated = translate(statement, slot, { inserts: this.#insertsIdentity });
    const result = await this.#inTurn(translated, values);
    await this.#noteTypes(translated);
    if (result.fields.length > 0 && result.command === 'SELECT') {
      const types = await this.#typesOf(result.fields);
      columnsToken(out, result.fields, types);
      for (const row of result.rows as unknown as (readonly (string | null)[])[]) {
        out.u8(0xd1);
        for (const [at, type] of types.entries()) writeValue(out, type, row[at] ?? null);
      }
    }
    const count = BigInt(result.rowCount ?? 0);
    out.raw(done(end.token, end.more | STATUS.count, count));
  }

  async #inTurn(
    { sql, locks }: Translated,
    values: readonly (string | null)[],
  ): Promise<QueryArrayResult> {
    const client = this.#client;
    if (client === undefined) throw new Error('the connection is closed');
    const isOwn = locks.length > 0 && !this.#inTransaction;
    if (isOwn) await client.query('BEGIN');
    try {
      for (const table of locks)
        await client.query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`);
      return await client.query({ text: sql, values: [...values], rowMode: 'array' });
    } finally {
      if (isOwn) await client.query('COMMIT');
    }
  }

  async #noteTypes({ types, copies }: Translated): Promise<void> {
    if (types !== undefined)
      for (const [name, type] of types.columns)
        await this.#client?.query(
          `INSERT INTO sys.written_types VALUES ($1::regclass, $2, $3) ON CONFLICT (relid, name) DO UPDATE SET type = excluded.type`,
          [types.table, name, type],
        );
    if (copies !== undefined)
      await this.#client?.query(
        `INSERT INTO sys.written_types SELECT $1::regclass, w.name, w.type FROM sys.written_types AS w WHERE w.relid = $2::regclass ON CONFLICT DO NOTHING`,
        [copies.to, copies.from],
      );
  }

  /** Columns of tables have the types with which they were made. */
  async #typesOf(fields: readonly FieldDef[]): Promise<WireType[]> {
    const places = fields.map(({ tableID, columnID, dataTypeID, dataTypeModifier }) => [
      tableID,
      columnID,
      dataTypeID,
      dataTypeModifier,
    ]);
    const found = await this.#client?.query({
      text: `SELECT sys.behind(relid, coalesce((SELECT attname FROM pg_attribute WHERE attrelid = relid AND attnum = place), ''), kind, modifier)
        FROM unnest($1::oid[], $2::int[], $3::oid[], $4::int[]) WITH ORDINALITY AS u (relid, place, kind, modifier, at) ORDER BY at`,
      values: [0, 1, 2, 3].map((at) => places.map((place) => place[at])),
      rowMode: 'array',
    });
    const rows = (found?.rows ?? []) as unknown as readonly [string][];
    return rows.map(([type]) => parseType(type));
  }

  async #loadRows(from: Reader, out: Bytes): Promise<void> {
    const table = this.#load?.table ?? '';
    from.u8();
    const columns = Array.from({ length: from.u16() }, () => {
      from.u32();
      from.u16();
      const type = readTypeInfo(from);
      return { type, name: from.shortText() };
    });
    const values: SentValue[][] = columns.map(() => []);
    while (from.u8() === 0xd1)
      for (const [at, { type }] of columns.entries()) values[at]?.push(readSent(from, type));
    const casts = values.map((column) => column[0]?.cast ?? 'text');
    const arrays = values.map((column) => column.map(({ value }) => value));
    const slots = casts.map((cast, at) => `$${at + 1}::${cast}[]`);
    const count = values[0]?.length ?? 0;
    if (count > 0)
      await this.#client?.query(
        `INSERT INTO ${table.startsWith('[') ? table.replaceAll(/[[\]]/g, '"') : `"${table}"`} SELECT * FROM unnest(${slots.join(', ')})`,
        arrays,
      );
    out.raw(done(DONE, STATUS.count, BigInt(count)));
  }

  async #transaction(from: Reader, out: Bytes): Promise<void> {
    const kind = from.u16();
    const descriptor = Buffer.concat([Buffer.of(8), Buffer.alloc(8, 1)]);
    if (kind === 5) {
      await this.#client?.query('BEGIN');
      this.#inTransaction = true;
      envChange(out, 8, Buffer.concat([descriptor, Buffer.of(0)]));
    } else {
      if (!this.#inTransaction)
        throw kind === 7
          ? new ServerError(
              3902,
              'The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.',
            )
          : new ServerError(
              3903,
              'The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.',
            );
      const refused = await this.#door.watch?.(kind === 7 ? 'COMMIT' : 'ROLLBACK');
      if (refused !== undefined) throw new ServerError(refused, 'The tests refuse this statement.');
      await this.#client?.query(kind === 7 ? 'COMMIT' : 'ROLLBACK');
      this.#inTransaction = false;
      envChange(out, kind === 7 ? 9 : 10, Buffer.concat([Buffer.of(0), descriptor]));
    }
    out.raw(done(DONE, 0));
  }
}

function asText(value: string): string {
  return value;
}

function unscrambled(byte: number): number {
  const plain = byte ^ 0xa5;
  return ((plain & 0x0f) << 4) | (plain >> 4);
}

function prelogin(): Buffer {
  const options = [
    [0, Buffer.of(14, 0, 0, 0, 0, 0)],
    // Encryption is not possible.
    [1, Buffer.of(2)],
  ] as const;
  let at = options.length * 5 + 1;
  const heads = options.map(([token, data]) => {
    const head = Buffer.alloc(5);
    head[0] = token;
    head.writeUInt16BE(at, 1);
    head.writeUInt16BE(data.length, 3);
    at += data.length;
    return head;
  });
  return Buffer.concat([...heads, Buffer.of(0xff), ...options.map(([, data]) => data)]);
}

function envChange(out: Bytes, type: number, body: Buffer): void {
  out
    .u8(0xe3)
    .u16(body.length + 1)
    .u8(type)
    .raw(body);
}

function done(token: number, status: number, count = 0n): Buffer {
  return new Bytes().u8(token).u16(status).u16(0).u64(count).done();
}

function errorToken(out: Bytes, { number, message }: ServerError): void {
  const body = new Bytes()
    .i32(number)
    .u8(1)
    .u8(16)
    .longText(message)
    .shortText('tests')
    .shortText('')
    .u32(1)
    .done();
  out.u8(0xaa).u16(body.length).raw(body);
}

function serverError(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  const { code = '', message } = error as Error & { readonly code?: string };
  return new ServerError(NUMBERS[code] ?? 50_000, message);
}

function columnsToken(out: Bytes, fields: readonly FieldDef[], types: readonly WireType[]): void {
  out.u8(0x81).u16(fields.length);
  for (const [at, type] of types.entries()) {
    out.u32(0).u16(1);
    writeTypeInfo(out, type);
    const name = fields[at]?.name ?? '';
    out.shortText(name === '?column?' ? '' : name);
  }
}
