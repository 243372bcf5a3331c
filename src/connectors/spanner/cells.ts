/** `google.protobuf.Value`: how Spanner sends and takes every value. */
import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { BYTES, tagged, VARINT, type Codec } from '../_google/messages.ts';

/** Numbers too large for a double, dates and bytes are texts. */
export type Cell = null | boolean | number | string | readonly Cell[];

/** The fields of a value: one of them is there. */
const [NULL, NUMBER, TEXT, TRUTH, LIST_OF] = [1, 2, 3, 4, 6];
const FIXED64 = 1;

function writeCell(writer: BinaryWriter, cell: Cell): void {
  switch (typeof cell) {
    case 'number':
      tagged(writer, NUMBER, FIXED64).double(cell);
      return;
    case 'string':
      tagged(writer, TEXT, BYTES).string(cell);
      return;
    case 'boolean':
      tagged(writer, TRUTH, VARINT).bool(cell);
      return;
    default:
      if (cell === null) {
        tagged(writer, NULL, VARINT).int32(0);
        return;
      }
      tagged(writer, LIST_OF, BYTES).fork();
      writeList(writer, cell);
      writer.join();
  }
}

function writeList(writer: BinaryWriter, cells: readonly Cell[]): void {
  for (const cell of cells) {
    tagged(writer, 1, BYTES).fork();
    writeCell(writer, cell);
    writer.join();
  }
}

function readCell(reader: BinaryReader, end: number): Cell {
  let cell: Cell = null;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    switch (number) {
      case NUMBER:
        cell = reader.double();
        break;
      case TEXT:
        cell = reader.string();
        break;
      case TRUTH:
        cell = reader.bool();
        break;
      case LIST_OF:
        cell = readList(reader, reader.uint32() + reader.pos);
        break;
      default:
        reader.skip(wireType, number);
    }
  }
  return cell;
}

function readList(reader: BinaryReader, end: number): Cell[] {
  const cells: Cell[] = [];
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (number === 1) cells.push(readCell(reader, reader.uint32() + reader.pos));
    else reader.skip(wireType, number);
  }
  return cells;
}

export const VALUE: Codec = {
  write: (writer, value) => writeCell(writer, value as Cell),
  read: readCell,
};

/** `google.protobuf.ListValue`. */
export const LIST: Codec = {
  write: (writer, value) => writeList(writer, value as readonly Cell[]),
  read: readList,
};

/** `google.protobuf.Struct`, which is only written: a reader passes over it. */
export const MAP: Codec = {
  write(writer, value) {
    for (const [name, cell] of Object.entries(value as Readonly<Record<string, Cell>>)) {
      tagged(writer, 1, BYTES).fork();
      tagged(writer, 1, BYTES).string(name);
      tagged(writer, 2, BYTES).fork();
      writeCell(writer, cell);
      writer.join();
      writer.join();
    }
  },
  read: (reader, end) => void (reader.pos = end),
};
