/** Rows in a stream: each in a frame of its own, with the size before it. */

/** One byte of kind and four of length, before every row. */
export const FRAME_HEAD = 5;

/** Where the frame at `at` ends. */
export function frameEnd(frames: Buffer, at: number): number {
  // Byte by byte, because this runs for every row; no message is as long as 2 GiB.
  return (
    at +
    1 +
    (((frames[at + 1] as number) << 24) |
      ((frames[at + 2] as number) << 16) |
      ((frames[at + 3] as number) << 8) |
      (frames[at + 4] as number))
  );
}
