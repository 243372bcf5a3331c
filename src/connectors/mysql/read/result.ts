/** Runs the query and hands its rows over as they come, with back pressure down to the server. */
import type { Socket } from 'node:net';
import type { Connection } from 'mysql2';
import { RowFrames } from './row-frames.ts';
import type { MysqlColumn } from '../../_mysql/result-types.ts';

/** With this many unread bytes, reading from the server is paused. */
export const HIGH_WATER = 512 * 1024;

/** Where rows of the text protocol are put, and what is made of them. */
export interface RowStore<T> {
  addPacket(row: Buffer, from: number, to: number): void;
  /** So much waits that reading is paused. */
  readonly isFull: boolean;
  /** Whether what comes now is not wanted. */
  readonly hasAll: boolean;
  /** The next rows, if any can be taken while more come, at the end, or before an error is told. */
  take(state: 'more' | 'over' | 'failed'): T | undefined;
}

export interface RunningResult<T> {
  /** The next rows of the store; `undefined` at the end. */
  next(): Promise<T | undefined>;
  /** When the last rows came, in milliseconds of `performance`. */
  readonly heardAt: number;
  /** Whether the server has sent everything. */
  readonly isOver: boolean;
}

/** A packet of the client, while it is handled. */
interface Packet {
  readonly buffer: Buffer;
  readonly offset: number;
  readonly end: number;
  isEOF(): boolean;
}

/** The command of the client that reads a result; `row` is called for each row. */
interface ReadingCommand {
  row: (packet: Packet, connection: Connection) => unknown;
  readField: () => unknown;
  readonly fieldsEOF: unknown;
  on(event: string, listener: (value: unknown) => void): ReadingCommand;
}

/** What is asked, and where its rows go. */
export interface Asked<T> {
  readonly sql: string;
  readonly columns: readonly MysqlColumn[];
  readonly store: RowStore<T>;
}

/** Rows in frames, each chunk valid until the next one is asked for. */
export function startFrames(
  connection: Connection,
  sql: string,
  columns: readonly MysqlColumn[],
): RunningResult<Buffer> {
  const frames = new RowFrames(columns);
  const store: RowStore<Buffer> = {
    addPacket: (row, from, to) => frames.addPacket(row, from, to),
    get isFull() {
      return frames.length >= HIGH_WATER;
    },
    hasAll: false,
    // A row that failed may be there in part.
    take: (state) => (state === 'failed' || frames.length === 0 ? undefined : frames.take()),
  };
  if (!hasFloats(columns)) return startResult(connection, { sql, columns, store }, startText);
  return startResult(connection, { sql, columns, store }, (target) => startBinary(target, frames));
}

/** The rows as the store makes them; only of columns that are read in the text protocol. */
export function startRows<T>(connection: Connection, asked: Asked<T>): RunningResult<T> {
  return startResult(connection, asked, startText);
}

/** The text of a number of 32 bits has too few digits to be that number. */
export function hasFloats(columns: readonly MysqlColumn[]): boolean {
  return columns.some((column) => column.isFloat);
}

function startResult<T>(
  connection: Connection,
  { sql, columns, store }: Asked<T>,
  start: (target: Target) => ReadingCommand,
): RunningResult<T> {
  const socket = (connection as unknown as { stream: Socket }).stream;
  let waiting: (() => void) | undefined;
  let isOver = false;
  let heardAt = performance.now();
  let failure: { readonly error: unknown } | undefined;
  // Once only: to resolve a promise again costs as much as to read a row.
  const wake = (): void => {
    const resolve = waiting;
    waiting = undefined;
    resolve?.();
  };
  const added = (): void => {
    if (store.isFull) socket.pause();
    wake();
  };
  const ended = (error?: unknown): void => {
    if (error !== undefined) failure ??= { error };
    isOver = true;
    wake();
  };
  const guarded = (add: () => void): void => {
    if (failure !== undefined) return;
    try {
      add();
    } catch (error) {
      failure = { error };
    }
    added();
  };
  // A command is not told that its connection broke.
  connection.on('error', ended);
  start({
    connection,
    sql,
    columns,
    add: (row, from, to) => guarded(() => store.addPacket(row, from, to)),
    guarded,
    heard: () => (heardAt = performance.now()),
  })
    .on('error', ended)
    .on('end', () => ended());
  return {
    get isOver() {
      return isOver;
    },
    get heardAt() {
      return heardAt;
    },
    async next() {
      for (;;) {
        const rows = store.take(failure !== undefined ? 'failed' : isOver ? 'over' : 'more');
        if (rows !== undefined) {
          socket.resume();
          return rows;
        }
        if (failure !== undefined) throw failure.error;
        if (isOver || store.hasAll) return undefined;
        await new Promise<void>((resolve) => (waiting = resolve));
      }
    },
  };
}

interface Target {
  readonly connection: Connection;
  readonly sql: string;
  readonly columns: readonly MysqlColumn[];
  readonly add: RowStore<unknown>['addPacket'];
  /** Keeps the error of a row, which must not end the client. */
  readonly guarded: (add: () => void) => void;
  /** Called when bytes have come. */
  readonly heard: () => void;
}

/** Rows of the text protocol are taken from the packets before the client makes values of them. */
function startText({ connection, sql, columns, add, heard }: Target): ReadingCommand {
  const command = connection.query({ sql }) as unknown as ReadingCommand;
  const { row: finish } = Object.getPrototypeOf(command) as ReadingCommand;
  let chunk: Buffer | undefined;
  const row = (packet: Packet, from: Connection): unknown => {
    if (packet.isEOF()) return finish.call(command, packet, from);
    if (packet.buffer !== chunk) {
      chunk = packet.buffer;
      heard();
    }
    add(packet.buffer, packet.offset, packet.end);
    return row;
  };
  // The columns are known; the client would make a parser of them, which not all names allow.
  let fields = 0;
  const readField = (): unknown =>
    (fields += 1) === columns.length ? command.fieldsEOF : readField;
  command.readField = readField;
  command.row = row;
  return command;
}

const PARSED: ReadonlySet<string> = new Set(['GEOMETRY', 'VECTOR']);

function startBinary(
  { connection, sql, columns, guarded, heard }: Target,
  frames: RowFrames,
): ReadingCommand {
  const command = connection.execute({
    sql,
    rowsAsArray: true,
    // The client would make objects of geometries and vectors.
    typeCast: (field, next) => (PARSED.has(field.type) ? field.buffer() : next()),
  }) as unknown as ReadingCommand;
  return command.on('result', (row) => {
    heard();
    guarded(() => {
      const values = row as readonly unknown[];
      frames.addValues(columns.map((column, index) => textOf(values[index], column)));
    });
  });
}

/** A value of the binary protocol as the text protocol spells it. */
function textOf(value: unknown, { isFloat, fraction }: MysqlColumn): string | Buffer | null {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value;
  if (isFloat) return floatText(value as number);
  const plain = value as string | number;
  const text = Object.is(plain, -0) ? '-0' : String(plain);
  return fraction === 0 ? text : withFraction(text, fraction);
}

const FLOAT_DIGITS = 9;

/** The shortest decimal that is the same number of 32 bits. */
function floatText(value: number): string {
  for (let digits = 1; digits < FLOAT_DIGITS; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return Object.is(short, -0) ? '-0' : String(short);
  }
  return String(Number(value.toPrecision(FLOAT_DIGITS)));
}

/** The client leaves out zeros at the end of a second. */
function withFraction(text: string, digits: number): string {
  const point = text.indexOf('.');
  const whole = point === -1 ? `${text}.` : text;
  return whole.padEnd((point === -1 ? text.length : point) + 1 + digits, '0');
}
