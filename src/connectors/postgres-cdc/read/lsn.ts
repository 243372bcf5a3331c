/** Positions in the log of a server (LSN): 64 bits, written as two hexadecimal numbers. */

const LSN = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/;

export function parseLsn(text: string): bigint | undefined {
  const match = LSN.exec(text);
  if (match === null) return undefined;
  return (BigInt(`0x${match[1]}`) << 32n) | BigInt(`0x${match[2]}`);
}

export function formatLsn(lsn: bigint): string {
  const text = `${(lsn >> 32n).toString(16)}/${(lsn & 0xffffffffn).toString(16)}`;
  return text.toUpperCase();
}
