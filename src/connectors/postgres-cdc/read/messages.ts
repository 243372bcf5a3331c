/**
 * Messages of `pgoutput`, version 1 of its protocol, as they are in the stream. The parsers of
 * others drop a byte order mark at the beginning of a value, and turn texts into values by types
 * that are set for the whole process.
 */
import { ConnectorError } from '../../../lib/errors.ts';

/** A value: its text, null, or `undefined` where the server did not send it (TOAST, unchanged). */
export type SentValue = string | null | undefined;

export interface RelationColumn {
  readonly name: string;
  readonly oid: number;
  /** Length, or digits, of the type; −1 without. */
  readonly modifier: number;
  readonly isKey: boolean;
}

export interface Relation {
  readonly id: number;
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly RelationColumn[];
}

/** The old values of a record: all of them, or those of its key. */
export interface OldTuple {
  readonly values: readonly SentValue[];
  readonly isWhole: boolean;
}

export type Message =
  | { readonly kind: 'begin'; readonly commit: bigint; readonly timeMs: number }
  | { readonly kind: 'commit'; readonly end: bigint }
  | { readonly kind: 'relation'; readonly relation: Relation }
  | {
      readonly kind: 'change';
      readonly op: 'insert' | 'update' | 'delete';
      readonly relation: number;
      readonly old: OldTuple | undefined;
      readonly values: readonly SentValue[] | undefined;
    }
  | { readonly kind: 'truncate'; readonly relations: readonly number[] }
  /** Origins, types and messages of programs: nothing that a record tells. */
  | { readonly kind: 'other' };

const OTHER: Message = { kind: 'other' };
/** Milliseconds from 1970 to 2000, from which the server counts. */
const EPOCH_MS = 946_684_800_000;

const [BEGIN, COMMIT, RELATION, INSERT, UPDATE, DELETE, TRUNCATE] = codes('BCRIUDT');
const [ORIGIN, TYPE, MESSAGE] = codes('OYM');
const [TEXT, NULL, UNCHANGED] = codes('tnu');
const [WHOLE, KEY, NEW] = codes('OKN');

function codes(letters: string): number[] {
  return [...Buffer.from(letters)];
}

/** Microseconds since 2000. */
export function timeMsOf(bytes: Buffer, at: number): number {
  return Number(bytes.readBigInt64BE(at) / 1000n) + EPOCH_MS;
}

export function readMessage(bytes: Buffer, from: number): Message {
  const code = bytes[from];
  const at = from + 1;
  switch (code) {
    case INSERT:
      return readInsert(bytes, at);
    case UPDATE:
      return readUpdate(bytes, at);
    case DELETE:
      return readDelete(bytes, at);
    case BEGIN:
      return {
        kind: 'begin',
        commit: bytes.readBigUInt64BE(at),
        timeMs: timeMsOf(bytes, at + 8),
      };
    case COMMIT:
      return { kind: 'commit', end: bytes.readBigUInt64BE(at + 9) };
    case RELATION:
      return { kind: 'relation', relation: readRelation(bytes, at) };
    case TRUNCATE:
      return readTruncate(bytes, at);
    case ORIGIN:
    case TYPE:
    case MESSAGE:
      return OTHER;
    default:
      return unknown(`a message \`${String.fromCharCode(code ?? 0)}\``);
  }
}

function unknown(what: string): never {
  throw new ConnectorError('data', `the server sends ${what}, which is not in its protocol`, {
    hint: 'check that the slot has the plugin `pgoutput`',
  });
}

function readInsert(bytes: Buffer, at: number): Message {
  const tuple = new TupleReader(bytes, at + 4);
  expectKind(tuple.kind(), NEW);
  const relation = bytes.readUInt32BE(at);
  return { kind: 'change', op: 'insert', relation, old: undefined, values: tuple.read() };
}

function readUpdate(bytes: Buffer, at: number): Message {
  const relation = bytes.readUInt32BE(at);
  const tuple = new TupleReader(bytes, at + 4);
  let kind = tuple.kind();
  let old: OldTuple | undefined;
  if (kind !== NEW) {
    old = { values: tuple.read(), isWhole: isWhole(kind) };
    kind = tuple.kind();
  }
  expectKind(kind, NEW);
  return { kind: 'change', op: 'update', relation, old, values: tuple.read() };
}

function readDelete(bytes: Buffer, at: number): Message {
  const tuple = new TupleReader(bytes, at + 4);
  const kind = tuple.kind();
  const old = { values: tuple.read(), isWhole: isWhole(kind) };
  const relation = bytes.readUInt32BE(at);
  return { kind: 'change', op: 'delete', relation, old, values: undefined };
}

function isWhole(kind: number | undefined): boolean {
  if (kind !== KEY) expectKind(kind, WHOLE);
  return kind === WHOLE;
}

function expectKind(kind: number | undefined, expected: number | undefined): void {
  if (kind !== expected) unknown(`a record of the kind \`${String.fromCharCode(kind ?? 0)}\``);
}

function readTruncate(bytes: Buffer, at: number): Message {
  const count = bytes.readUInt32BE(at);
  const relations = Array.from({ length: count }, (_, index) =>
    bytes.readUInt32BE(at + 5 + 4 * index),
  );
  return { kind: 'truncate', relations };
}

function readRelation(bytes: Buffer, from: number): Relation {
  let at = from + 4;
  const text = (): string => {
    const end = bytes.indexOf(0, at);
    const found = bytes.toString('utf8', at, end);
    at = end + 1;
    return found;
  };
  const [schema, table] = [text(), text()];
  // The byte between says which values identify a record, which each change says, too.
  const count = bytes.readUInt16BE(at + 1);
  at += 3;
  const columns = Array.from({ length: count }, (): RelationColumn => {
    const isKey = ((bytes[at] ?? 0) & 1) === 1;
    at += 1;
    const name = text();
    const oid = bytes.readUInt32BE(at);
    const modifier = bytes.readInt32BE(at + 4);
    at += 8;
    return { name, oid, modifier, isKey };
  });
  return { id: bytes.readUInt32BE(from), schema, table, columns };
}

class TupleReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  kind(): number | undefined {
    this.#at += 1;
    return this.#bytes[this.#at - 1];
  }

  read(): SentValue[] {
    const bytes = this.#bytes;
    const count = bytes.readUInt16BE(this.#at);
    let at = this.#at + 2;
    const values: SentValue[] = [];
    for (let index = 0; index < count; index += 1) {
      const kind = bytes[at];
      at += 1;
      if (kind === TEXT) {
        const start = at + 4;
        at = start + bytes.readUInt32BE(at);
        values.push(bytes.toString('utf8', start, at));
      } else if (kind === NULL) values.push(null);
      else if (kind === UNCHANGED) values.push(undefined);
      else unknown(`a value of the kind \`${String.fromCharCode(kind ?? 0)}\``);
    }
    this.#at = at;
    return values;
  }
}
