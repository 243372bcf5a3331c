/** Values as Arrow stores them. */

/** Which of them are null, as `makeData` takes it. */
export function nullsOf(values: readonly unknown[]): {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap: Uint8Array;
} {
  const nullBitmap = new Uint8Array(Math.ceil(values.length / 8));
  for (const [at, value] of values.entries())
    if (value !== null) nullBitmap[at >> 3] = (nullBitmap[at >> 3] ?? 0) | (1 << (at & 7));
  const nullCount = values.filter((value) => value === null).length;
  return { length: values.length, nullCount, nullBitmap };
}

/** Each in 128 bits, or so many as are told, the least significant word first. */
export function wordsOf(values: readonly bigint[], bits = 128): Uint32Array {
  return Uint32Array.from(
    values.flatMap((value) =>
      Array.from({ length: bits / 32 }, (_, word) =>
        Number((BigInt.asUintN(bits, value) >> BigInt(word * 32)) & 0xff_ff_ff_ffn),
      ),
    ),
  );
}
