/**
 * Messages of protocol buffers, described by the numbers of the fields that are used: there is no
 * generated code, and a field that is not named here is skipped.
 */
import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';

export type Wire = typeof import('@bufbuild/protobuf/wire');

type Scalar = 'string' | 'bytes' | 'int32' | 'int64' | 'bool';

/** Values that are written and read in a way of their own; `end` is where the value ends. */
export interface Codec {
  readonly write: (writer: BinaryWriter, value: unknown) => void;
  readonly read: (reader: BinaryReader, end: number) => unknown;
}

type Kind = Scalar | MessageType<object> | Codec;

interface Field {
  readonly number: number;
  readonly kind: Kind;
  /** `some`: a list. `named`: a map from texts. `told`: absent where the sender leaves it out. */
  readonly occurs?: 'some' | 'named' | 'told';
}

declare const of: unique symbol;

export interface MessageType<T extends object> {
  readonly fields: ReadonlyMap<number, readonly [name: string, field: Field]>;
  readonly [of]?: T;
}

export function messageType<T extends object>(
  fields: Readonly<Record<keyof T & string, Field>>,
): MessageType<T> {
  const entries = Object.entries<Field>(fields);
  return { fields: new Map(entries.map(([name, field]) => [field.number, [name, field]])) };
}

/** For a message that holds others of its kind. */
export function lazily<T extends object>(type: () => MessageType<T>): MessageType<T> {
  return {
    get fields() {
      return type().fields;
    },
  };
}

/** One field; `one(3, 'string')`. */
export const one = (number: number, kind: Kind): Field => ({ number, kind });
export const told = (number: number, kind: Kind): Field => ({ number, kind, occurs: 'told' });
export const some = (number: number, kind: Kind): Field => ({ number, kind, occurs: 'some' });
export const named = (number: number, kind: Kind): Field => ({ number, kind, occurs: 'named' });

/** `google.protobuf.Timestamp`, and `Duration`, which has the same fields. */
export interface Instant {
  readonly seconds: bigint;
  readonly nanos: number;
}
export const INSTANT = messageType<Instant>({ seconds: one(1, 'int64'), nanos: one(2, 'int32') });

export const EMPTY = messageType<object>({});

/** How a value stands behind its tag. */
export const [VARINT, BYTES] = [0, 2];

export function tagged(writer: BinaryWriter, number: number, wireType: number): BinaryWriter {
  return writer.uint32(number * 8 + wireType);
}

const WIRE_TYPES: Readonly<Record<Scalar, number>> = {
  string: BYTES,
  bytes: BYTES,
  int32: VARINT,
  int64: VARINT,
  bool: VARINT,
};

const DEFAULTS: Readonly<Record<Scalar, unknown>> = {
  string: '',
  bytes: new Uint8Array(),
  int32: 0,
  int64: 0n,
  bool: false,
};

/** Fields that are `undefined` are left out. */
export function encoded<T extends object>(wire: Wire, type: MessageType<T>, message: T): Buffer {
  const writer = new wire.BinaryWriter();
  writeMessage(writer, type, message);
  return Buffer.from(writer.finish());
}

function writeMessage(
  writer: BinaryWriter,
  { fields }: MessageType<object>,
  message: object,
): void {
  for (const [number, [name, { kind, occurs }]] of fields) {
    const value = (message as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) continue;
    if (occurs === 'some')
      for (const item of value as unknown[]) writeField(writer, number, kind, item);
    else if (occurs === 'named')
      writeMap(writer, number, kind, value as Readonly<Record<string, unknown>>);
    else writeField(writer, number, kind, value);
  }
}

function writeMap(
  writer: BinaryWriter,
  number: number,
  kind: Kind,
  entries: Readonly<Record<string, unknown>>,
): void {
  for (const [name, value] of Object.entries(entries)) {
    tagged(writer, number, BYTES).fork();
    writeField(writer, 1, 'string', name);
    writeField(writer, 2, kind, value);
    writer.join();
  }
}

function writeField(writer: BinaryWriter, number: number, kind: Kind, value: unknown): void {
  if (typeof kind === 'string') {
    tagged(writer, number, WIRE_TYPES[kind]);
    (writer[kind] as (value: unknown) => void).call(writer, value);
    return;
  }
  tagged(writer, number, BYTES).fork();
  if ('write' in kind) kind.write(writer, value);
  else writeMessage(writer, kind, value as object);
  writer.join();
}

/** Fields that did not come have the empty value of their kind. */
export function decoded<T extends object>(wire: Wire, type: MessageType<T>, bytes: Uint8Array): T {
  const reader = new wire.BinaryReader(bytes);
  return readMessage(reader, type, reader.len) as T;
}

function emptyMessage({ fields }: MessageType<object>): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  for (const [name, { kind, occurs }] of fields.values())
    if (occurs !== 'told') message[name] = emptyField(kind, occurs);
  return message;
}

function emptyField(kind: Kind, occurs: Field['occurs']): unknown {
  if (occurs === 'some') return [];
  if (occurs === 'named') return Object.create(null);
  if (typeof kind === 'string') return DEFAULTS[kind];
  return 'read' in kind ? undefined : emptyMessage(kind);
}

function readMessage(reader: BinaryReader, type: MessageType<object>, end: number): object {
  const message = emptyMessage(type);
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const known = type.fields.get(number);
    if (known === undefined) {
      reader.skip(wireType, number);
      continue;
    }
    const [name, { kind, occurs }] = known;
    if (occurs === 'some') (message[name] as unknown[]).push(readField(reader, kind));
    else if (occurs === 'named') readEntry(reader, kind, message[name] as Record<string, unknown>);
    else message[name] = readField(reader, kind);
  }
  return message;
}

function readEntry(reader: BinaryReader, kind: Kind, into: Record<string, unknown>): void {
  const end = reader.uint32() + reader.pos;
  let [name, value] = ['', emptyField(kind, undefined)];
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (number === 1) name = reader.string();
    else if (number === 2) value = readField(reader, kind);
    else reader.skip(wireType, number);
  }
  into[name] = value;
}

function readField(reader: BinaryReader, kind: Kind): unknown {
  if (kind === 'int64') return BigInt(reader.int64());
  if (typeof kind === 'string') return reader[kind]();
  const end = reader.uint32() + reader.pos;
  return 'read' in kind ? kind.read(reader, end) : readMessage(reader, kind, end);
}
