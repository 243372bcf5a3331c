import { v7 } from 'uuid';

/** Makes run and invocation ids: UUID version 7, so that text order is time order. */
export interface Ids {
  next(): string;
}

const ID_BYTES = 16;
/** Getting random bytes from the system costs the same for one id as for many. */
const POOL_BYTES = 256 * ID_BYTES;

const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

function randomBytes(): Uint8Array {
  if (used === POOL_BYTES) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.subarray(used - ID_BYTES, used);
}

let msecs = 0;
let seq = 0;

/** Ids of the same millisecond count up from a random number; their time never goes back. */
function nextId(): string {
  const random = randomBytes();
  const now = Date.now();
  if (now > msecs) {
    msecs = now;
    seq = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1;
  } else {
    seq = (seq + 1) >>> 0;
    if (seq === 0) msecs += 1;
  }
  return v7({ random, msecs, seq });
}

export const uuidIds: Ids = { next: nextId };

/** Whether a text is such an id, so that its order is its order in time. */
export function isTimeOrdered(id: string): boolean {
  return /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(id);
}
