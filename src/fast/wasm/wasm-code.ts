/**
 * Builds the code of a WebAssembly function: instructions are functions of their operands, branches
 * name the block that they leave.
 */
import { i64Bytes, joinBytes, nameBytes, sized, u32Bytes } from '../../lib/wasm/wasm-bytes.ts';

/**
 * Bytes, and markers that `functionModule` resolves: where a block begins and ends, and which block a
 * branch leaves.
 */
export type Code = readonly (number | BlockStart | BlockEnd | Target)[];

interface BlockStart {
  readonly opens: string;
}
interface BlockEnd {
  readonly closes: true;
}
interface Target {
  readonly leaves: string;
}

const NO_VALUE = 0x40;
const END = 0x0b;
const CLOSED: BlockEnd = { closes: true };
const NAMELESS = '';

export const I32 = 0x7f;
export const V128 = 0x7b;

const vectorOp = (opcode: number): Code => [0xfd, ...u32Bytes(opcode)];
const unary =
  (op: Code) =>
  (value: Code): Code => [...value, ...op];
const binary =
  (op: Code) =>
  (left: Code, right: Code): Code => [...left, ...right, ...op];

export const int = (value: number): Code => [0x41, ...i64Bytes(BigInt(value))];
export const get = (local: number): Code => [0x20, ...u32Bytes(local)];
export const set = (local: number, value: Code): Code => [...value, 0x21, ...u32Bytes(local)];
/** Adds to a local. */
export const bump = (local: number, value: Code): Code => set(local, add(get(local), value));

export const add = binary([0x6a]);
export const subtract = binary([0x6b]);
export const multiply = binary([0x6c]);
export const and = binary([0x71]);
export const or = binary([0x72]);
export const not = unary([0x45]);
export const equal = binary([0x46]);
export const unequal = binary([0x47]);
export const greater = binary([0x4b]);
export const atLeast = binary([0x4f]);
export const shiftLeft = binary([0x74]);
/** How many of the lowest bits are zero. */
export const trailingZeros = unary([0x68]);

/** Loads and stores take a constant that is added to the address; addresses need not be even. */
type Load = (address: Code, offset?: number) => Code;
type Store = (address: Code, value: Code, offset?: number) => Code;
const loading =
  (op: Code): Load =>
  (address, offset = 0) => [...address, ...op, 0, ...u32Bytes(offset)];
const storing =
  (op: Code): Store =>
  (address, value, offset = 0) => [...address, ...value, ...op, 0, ...u32Bytes(offset)];

export const loadByte = loading([0x2d]);
export const loadWord = loading([0x28]);
export const loadTwoWords = loading([0x29]);
export const loadVector = loading(vectorOp(0));
export const storeByte = storing([0x3a]);
export const storeTwoBytes = storing([0x3b]);
export const storeWord = storing([0x36]);
export const storeTwoWords = storing([0x37]);
export const storeVector = storing(vectorOp(11));

export const splatBytes = unary(vectorOp(0x0f));
export const splatWords = unary(vectorOp(0x11));
export const equalBytes = binary(vectorOp(0x23));
export const lesserBytes = binary(vectorOp(0x77));
export const bothBits = binary(vectorOp(0x4e));
export const eitherBits = binary(vectorOp(0x50));
export const oddBits = binary(vectorOp(0x51));
export const anyBit = unary(vectorOp(0x53));
/** The highest bit of every byte of a vector. */
export const highBits = unary(vectorOp(0x64));
export const addWords = binary(vectorOp(0xae));
export const shiftWordsLeft = binary(vectorOp(0xab));
export const shiftWordsRight = binary(vectorOp(0xad));
/** Takes the bits of `left` where `mask` is set, and those of `right` elsewhere. */
export const chosenBits = (left: Code, right: Code, mask: Code): Code => [
  ...left,
  ...right,
  ...mask,
  ...vectorOp(0x52),
];

/** `leave` it to go on behind it. */
export const block = (name: string, ...body: Code[]): Code => [
  0x02,
  NO_VALUE,
  { opens: name },
  ...body.flat(),
  CLOSED,
];
/** `leave` it to go on at its start; who reaches its end goes on behind it. */
export const loop = (name: string, ...body: Code[]): Code => [
  0x03,
  NO_VALUE,
  { opens: name },
  ...body.flat(),
  CLOSED,
];
export const when = (condition: Code, ...body: Code[]): Code => [
  ...condition,
  0x04,
  NO_VALUE,
  { opens: NAMELESS },
  ...body.flat(),
  CLOSED,
];
export const leave = (name: string): Code => [0x0c, { leaves: name }];
export const leaveWhen = (name: string, condition: Code): Code => [
  ...condition,
  0x0d,
  { leaves: name },
];

export interface WasmFunction {
  readonly name: string;
  /** All of them 32-bit numbers. */
  readonly params: number;
  readonly returnsNumber: boolean;
  /** The types of the locals behind the parameters. */
  readonly locals: readonly number[];
  readonly body: Code;
  /** Of 64 KiB, that the memory has at first. */
  readonly pages: number;
}

/** A module of one function and its memory, which is exported as `memory`. */
export function functionModule({
  name,
  params,
  returnsNumber,
  locals,
  body,
  pages,
}: WasmFunction): Uint8Array {
  const section = (id: number, content: readonly number[]): Uint8Array =>
    joinBytes([Uint8Array.of(id), sized([Uint8Array.from(content)])]);
  const declared = locals.flatMap((type) => [1, type]);
  const code = [...u32Bytes(locals.length), ...declared, ...resolved(body), END];
  return joinBytes([
    Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0),
    section(1, [
      1,
      0x60,
      params,
      ...Array.from({ length: params }, () => I32),
      ...(returnsNumber ? [1, I32] : [0]),
    ]),
    section(3, [1, 0]),
    section(5, [1, 0, ...u32Bytes(pages)]),
    section(7, [2, ...nameBytes('memory'), 2, 0, ...nameBytes(name), 0, 0]),
    section(10, [1, ...u32Bytes(code.length), ...code]),
  ]);
}

/** A branch says how many blocks lie between it and the one it leaves. */
function resolved(code: Code): number[] {
  const open: string[] = [];
  const out: number[] = [];
  for (const item of code) {
    if (typeof item === 'number') out.push(item);
    else if ('opens' in item) open.push(item.opens);
    else if ('leaves' in item)
      out.push(...u32Bytes(open.length - 1 - open.lastIndexOf(item.leaves)));
    else {
      open.pop();
      out.push(END);
    }
  }
  return out;
}
