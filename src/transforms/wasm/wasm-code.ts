/** Inserts instructions that count work into the code of a WebAssembly function. */
import {
  ByteReader,
  i64Bytes,
  joinBytes,
  u32Bytes,
  WasmFormatError,
} from '../../lib/wasm/wasm-bytes.ts';

/** What the added instructions refer to, by index. */
export interface Meter {
  /** The global that holds the fuel left, an `i64`. */
  readonly fuel: number;
  /** The function `(i32) -> i32` that charges for a block of bytes and gives its length back. */
  readonly charge: number;
}

const LOOP = 0x03;
const END = 0x0b;

/** Takes fuel, and traps when there was not enough. */
export function takeFuel({ fuel }: Pick<Meter, 'fuel'>, amount: readonly number[]): number[] {
  const index = u32Bytes(fuel);
  // global.get, amount, i64.sub, global.set, global.get, i64.const 0, i64.lt_s, if, unreachable,
  // end
  return [
    0x23,
    ...index,
    ...amount,
    0x7d,
    0x24,
    ...index,
    0x23,
    ...index,
    0x42,
    0x00,
    0x53,
    0x04,
    0x40,
    0x00,
    END,
  ];
}

/**
 * Code whose fuel is taken where it begins: a function, or one iteration of a loop, without the
 * loops inside.
 */
interface Stretch {
  readonly at: number;
  cost: number;
}

/**
 * The body of a function (after its locals) with the charges in it. An instruction costs 1 whenever
 * the function or the loop iteration that it belongs to begins, whether it is reached or not, so that
 * no path of the code is free.
 */
export function meteredCode(code: ByteReader, meter: Meter): Uint8Array {
  const start = code.at;
  const stretches: Stretch[] = [{ at: start, cost: 1 }];
  const charges: number[] = [];
  const open: (Stretch | undefined)[] = [undefined];
  const inner = [stretches[0] as Stretch];
  while (!code.done) {
    const at = code.at;
    const opcode = code.byte();
    (inner.at(-1) as Stretch).cost += 1;
    if (opcode === LOOP) {
      code.skipNumber();
      const stretch = { at: code.at, cost: 1 };
      stretches.push(stretch);
      inner.push(stretch);
      open.push(stretch);
    } else if (opcode === 0x02 || opcode === 0x04) {
      code.skipNumber();
      open.push(undefined);
    } else if (opcode === END) {
      if (open.length === 0) throw new WasmFormatError('a block ends that never began');
      if (open.pop() !== undefined) inner.pop();
    } else if (skipImmediates(opcode, code) === 'block of bytes') charges.push(at);
  }
  return withInsertions(code.bytes, { start, end: code.end }, [
    ...stretches.map(({ at, cost }) => ({
      at,
      bytes: takeFuel(meter, [0x42, ...i64Bytes(BigInt(cost))]),
    })),
    ...charges.map((at) => ({ at, bytes: [0x10, ...u32Bytes(meter.charge)] })),
  ]);
}

interface Insertion {
  readonly at: number;
  readonly bytes: readonly number[];
}

function withInsertions(
  bytes: Uint8Array,
  range: { start: number; end: number },
  insertions: readonly Insertion[],
): Uint8Array {
  const parts: Uint8Array[] = [];
  let from = range.start;
  for (const { at, bytes: added } of insertions.toSorted((a, b) => a.at - b.at)) {
    parts.push(bytes.subarray(from, at), Uint8Array.from(added));
    from = at;
  }
  return joinBytes([...parts, bytes.subarray(from, range.end)]);
}

/** Instructions whose work grows with the length on top of the stack. */
type Kind = 'plain' | 'block of bytes';

function skipImmediates(opcode: number, code: ByteReader): Kind {
  if (opcode >= 0x45 && opcode <= 0xc4) return 'plain';
  if (opcode >= 0x28 && opcode <= 0x3e) return skipAddress(code);
  switch (opcode) {
    // unreachable, nop, else, return, drop, select, ref.is_null
    case 0x00:
    case 0x01:
    case 0x05:
    case 0x0f:
    case 0x1a:
    case 0x1b:
    case 0xd1:
      return 'plain';
    // br, br_if, call, return_call, locals, globals, tables, memory.size, memory.grow, constants,
    // ref.null, ref.func
    case 0x0c:
    case 0x0d:
    case 0x10:
    case 0x12:
    case 0x20:
    case 0x21:
    case 0x22:
    case 0x23:
    case 0x24:
    case 0x25:
    case 0x26:
    case 0x3f:
    case 0x40:
    case 0x41:
    case 0x42:
    case 0xd0:
    case 0xd2:
      code.skipNumber();
      return 'plain';
    // call_indirect, return_call_indirect
    case 0x11:
    case 0x13:
      code.u32();
      code.u32();
      return 'plain';
    case 0x0e:
      return skipNumbers(code, code.u32() + 1);
    case 0x1c:
      return skipNumbers(code, code.u32());
    case 0x43:
      code.skip(4);
      return 'plain';
    case 0x44:
      code.skip(8);
      return 'plain';
    case 0xfc:
      return skipBulk(code);
    case 0xfd:
      return skipVector(code);
    default:
      throw new WasmFormatError(
        `it has an instruction (0x${opcode.toString(16)}) that is not known here`,
      );
  }
}

function skipNumbers(code: ByteReader, count: number): Kind {
  for (let i = 0; i < count; i += 1) code.skipNumber();
  return 'plain';
}

function skipAddress(code: ByteReader): Kind {
  code.u32();
  code.skipNumber();
  return 'plain';
}

/** The saturating conversions, and memory and table as a whole. */
function skipBulk(code: ByteReader): Kind {
  const opcode = code.u32();
  if (opcode <= 7) return 'plain';
  switch (opcode) {
    case 8: // memory.init
    case 10: // memory.copy
    case 12: // table.init
    case 14: // table.copy
      code.u32();
      code.u32();
      return 'block of bytes';
    case 11: // memory.fill
    case 15: // table.grow
    case 17: // table.fill
      code.u32();
      return 'block of bytes';
    case 9: // data.drop
    case 13: // elem.drop
    case 16: // table.size
      code.u32();
      return 'plain';
    default:
      throw new WasmFormatError(`it has an instruction (0xfc ${opcode}) that is not known here`);
  }
}

function skipVector(code: ByteReader): Kind {
  const opcode = code.u32();
  if (opcode > 275)
    throw new WasmFormatError(`it has an instruction (0xfd ${opcode}) that is not known here`);
  if (opcode <= 11 || opcode === 92 || opcode === 93) return skipAddress(code);
  if (opcode === 12 || opcode === 13) code.skip(16);
  else if (opcode >= 21 && opcode <= 34) code.skip(1);
  else if (opcode >= 84 && opcode <= 91) {
    skipAddress(code);
    code.skip(1);
  }
  return 'plain';
}
