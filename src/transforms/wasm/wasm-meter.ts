/**
 * The engine does not count work and cannot stop a loop. So a module is rewritten before it is
 * compiled: it counts its own work (fuel), and its memory gets a limit. Additions come after what is
 * there, so that all indexes stay valid.
 */
import {
  ByteReader,
  i64Bytes,
  joinBytes,
  nameBytes,
  sized,
  u32Bytes,
  WasmFormatError,
} from '../../lib/wasm/wasm-bytes.ts';
import { meteredCode, takeFuel, type Meter } from './wasm-code.ts';

/** The export under which the fuel left can be read and set. */
export const FUEL_EXPORT = 'headgate:fuel';

export interface MeterOptions {
  readonly memoryPages: number;
  readonly fuelLimit: number;
}

const SECTION = {
  type: 1,
  import: 2,
  function: 3,
  memory: 5,
  global: 6,
  export: 7,
  code: 10,
} as const;
/** In the order of the format; the count of data segments (12) comes before the code. */
const ORDER = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

export function meteredModule(
  bytes: Uint8Array,
  { memoryPages, fuelLimit }: MeterOptions,
): Uint8Array {
  const sections = sectionsOf(bytes);
  const meter: Meter = {
    fuel: itemsIn(sections, SECTION.global),
    charge: importedFunctions(sections) + itemsIn(sections, SECTION.function),
  };
  boundMemory(sections, memoryPages);
  // (i32) -> i32
  const chargeType = itemsIn(sections, SECTION.type);
  append(sections, SECTION.type, [0x60, 1, 0x7f, 1, 0x7f]);
  append(sections, SECTION.function, u32Bytes(chargeType));
  // A variable i64.
  append(sections, SECTION.global, [0x7e, 1, 0x42, ...i64Bytes(BigInt(fuelLimit)), 0x0b]);
  append(sections, SECTION.export, [...nameBytes(FUEL_EXPORT), 3, ...u32Bytes(meter.fuel)]);
  sections.set(SECTION.code, codeSection(sections.get(SECTION.code), meter));
  return joinBytes([
    Uint8Array.from(HEADER),
    ...ORDER.flatMap((id) => {
      const content = sections.get(id);
      return content === undefined ? [] : [Uint8Array.of(id), sized([content])];
    }),
  ]);
}

type Sections = Map<number, Uint8Array>;

/** By number; sections that do not affect execution (names) are left out. */
function sectionsOf(bytes: Uint8Array): Sections {
  if (HEADER.some((byte, index) => bytes[index] !== byte))
    throw new WasmFormatError('it is no WebAssembly module of version 1');
  const reader = new ByteReader(bytes, HEADER.length);
  const sections: Sections = new Map();
  while (!reader.done) {
    const id = reader.byte();
    const content = reader.part();
    if (id === 0) continue;
    if (!ORDER.includes(id) || sections.has(id))
      throw new WasmFormatError(`it has a section ${id} that is not known here, or twice`);
    sections.set(id, content.rest());
  }
  return sections;
}

function itemsIn(sections: Sections, id: number): number {
  const content = sections.get(id);
  return content === undefined ? 0 : new ByteReader(content).u32();
}

function append(sections: Sections, id: number, item: readonly number[]): void {
  const reader = new ByteReader(sections.get(id) ?? Uint8Array.of(0));
  const count = reader.u32();
  sections.set(
    id,
    joinBytes([Uint8Array.from(u32Bytes(count + 1)), reader.rest(), Uint8Array.from(item)]),
  );
}

/** Only functions can be imported: an imported memory or table would have no limit of ours. */
function importedFunctions(sections: Sections): number {
  const content = sections.get(SECTION.import);
  if (content === undefined) return 0;
  const reader = new ByteReader(content);
  const count = reader.u32();
  for (let i = 0; i < count; i += 1) {
    const name = `${reader.name()}.${reader.name()}`;
    if (reader.byte() !== 0)
      throw new WasmFormatError(`it imports \`${name}\`, which is no function`);
    reader.u32();
  }
  return count;
}

function boundMemory(sections: Sections, mostPages: number): void {
  const content = sections.get(SECTION.memory);
  if (content === undefined) return;
  const reader = new ByteReader(content);
  if (reader.u32() !== 1) throw new WasmFormatError('it has several memories');
  const flags = reader.byte();
  if (flags > 1) throw new WasmFormatError('its memory is shared, or of 64 bits');
  const first = reader.u32();
  const most = flags === 1 ? reader.u32() : mostPages;
  if (first > mostPages)
    throw new WasmFormatError(
      `it begins with ${first * 64} KiB of memory, more than \`memory_limit_mb\` allows`,
    );
  sections.set(
    SECTION.memory,
    Uint8Array.from([1, 1, ...u32Bytes(first), ...u32Bytes(Math.min(most, mostPages))]),
  );
}

function codeSection(content: Uint8Array | undefined, meter: Meter): Uint8Array {
  const reader = new ByteReader(content ?? Uint8Array.of(0));
  const count = reader.u32();
  const bodies: Uint8Array[] = [];
  for (let i = 0; i < count; i += 1) {
    const body = reader.part();
    const from = body.at;
    for (let groups = body.u32(); groups > 0; groups -= 1) {
      body.u32();
      body.skipNumber();
    }
    const locals = body.bytes.subarray(from, body.at);
    bodies.push(sized([locals, meteredCode(body, meter)]));
  }
  return joinBytes([Uint8Array.from(u32Bytes(count + 1)), ...bodies, chargeBody(meter)]);
}

/** One unit of fuel for 8 bytes. */
function chargeBody(meter: Meter): Uint8Array {
  const amount = [0x20, 0, 0xad, 0x42, 3, 0x88];
  return sized([Uint8Array.from([0, ...takeFuel(meter, amount), 0x20, 0, 0x0b])]);
}
