/** Cyclic redundancy checks that Node does not have: CRC-32C and CRC-64/NVME, byte by byte. */

const CASTAGNOLI = 0x82f63b78;

let table32: Uint32Array | undefined;

export function crc32c(bytes: Uint8Array, before = 0): number {
  const table = (table32 ??= tableOf32());
  let crc = ~before;
  for (const byte of bytes) crc = (table[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

function tableOf32(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, index) => {
    let crc = index;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ ((crc & 1) === 1 ? CASTAGNOLI : 0);
    return crc;
  });
}

/** The reflected polynomial of CRC-64/NVME. */
const NVME = 0x9a6c9329ac4bc9b5n;

let table64: { readonly high: Uint32Array; readonly low: Uint32Array } | undefined;

/** In two halves, because numbers of 64 bits are slow here. */
export class Crc64Nvme {
  #high = -1;
  #low = -1;

  update(bytes: Uint8Array): void {
    const { high, low } = (table64 ??= tableOf64());
    let [above, below] = [this.#high, this.#low];
    for (const byte of bytes) {
      const index = (below ^ byte) & 0xff;
      below = ((below >>> 8) | (above << 24)) ^ (low[index] ?? 0);
      above = (above >>> 8) ^ (high[index] ?? 0);
    }
    this.#high = above;
    this.#low = below;
  }

  /** Big-endian, as stores write it. */
  bytes(): Buffer {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32BE(~this.#high >>> 0, 0);
    bytes.writeUInt32BE(~this.#low >>> 0, 4);
    return bytes;
  }
}

function tableOf64(): { readonly high: Uint32Array; readonly low: Uint32Array } {
  const high = new Uint32Array(256);
  const low = new Uint32Array(256);
  for (let index = 0; index < 256; index += 1) {
    let crc = BigInt(index);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >> 1n) ^ ((crc & 1n) === 1n ? NVME : 0n);
    high[index] = Number(crc >> 32n);
    low[index] = Number(crc & 0xffffffffn);
  }
  return { high, low };
}
