/**
 * Reading and writing the binary format of WebAssembly: numbers of variable length, and sections.
 */

export class WasmFormatError extends Error {}

export class ByteReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  byte(): number {
    const byte = this.at < this.end ? this.bytes[this.at] : undefined;
    if (byte === undefined) throw new WasmFormatError('the module ends too early');
    this.at += 1;
    return byte;
  }

  /** An unsigned number of at most 32 bits. */
  u32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new WasmFormatError('a number is too long');
  }

  /** Passes over a number of any sign and at most 64 bits. */
  skipNumber(): void {
    for (let length = 0; length < 10; length += 1) if (this.byte() < 0x80) return;
    throw new WasmFormatError('a number is too long');
  }

  skip(length: number): void {
    if (this.at + length > this.end) throw new WasmFormatError('the module ends too early');
    this.at += length;
  }

  name(): string {
    const length = this.u32();
    const from = this.at;
    this.skip(length);
    return new TextDecoder().decode(this.bytes.subarray(from, this.at));
  }

  /** The bytes of the next section or body, which carries its length. */
  part(): ByteReader {
    const length = this.u32();
    const from = this.at;
    this.skip(length);
    return new ByteReader(this.bytes, from, this.at);
  }

  rest(): Uint8Array {
    return this.bytes.subarray(this.at, this.end);
  }
}

export function u32Bytes(value: number): number[] {
  const out: number[] = [];
  let rest = value;
  do {
    const byte = rest % 128;
    rest = Math.floor(rest / 128);
    out.push(rest === 0 ? byte : byte | 0x80);
  } while (rest !== 0);
  return out;
}

export function i64Bytes(value: bigint): number[] {
  const out: number[] = [];
  let rest = value;
  for (;;) {
    const byte = Number(rest & 0x7fn);
    rest >>= 7n;
    const ends = (rest === 0n && (byte & 0x40) === 0) || (rest === -1n && (byte & 0x40) !== 0);
    out.push(ends ? byte : byte | 0x80);
    if (ends) return out;
  }
}

export function nameBytes(name: string): number[] {
  const bytes = [...new TextEncoder().encode(name)];
  return [...u32Bytes(bytes.length), ...bytes];
}

/** With its length in front. */
export function sized(parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return joinBytes([Uint8Array.from(u32Bytes(length)), ...parts]);
}

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
