const OFFSET_BASIS = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;

/** FNV-1a of 64 bits, as 16 hexadecimal digits: names things, protects nothing. */
export function fnv1a64(text: string): string {
  let hash = OFFSET_BASIS;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  return hash.toString(16).padStart(16, '0');
}
