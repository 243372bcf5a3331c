/**
 * What an output holds, whatever the order of its records: how many there are, and the sum of their
 * hashes.
 */
import { hash } from 'node:crypto';

export interface Digest {
  readonly records: number;
  readonly sum: string;
}

const LANES = [0, 4, 8, 12];
const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

export interface DigestSum {
  /** Values in the order of the fields. */
  add(values: readonly unknown[]): void;
  digest(): Digest;
}

export function createDigest(): DigestSum {
  const sums = new Uint32Array(LANES.length);
  let records = 0;
  return {
    add(values) {
      const bytes = hash('md5', JSON.stringify(values.map(canonical)), 'buffer');
      LANES.forEach(
        (offset, lane) => (sums[lane] = (sums[lane] ?? 0) + bytes.readUInt32LE(offset)),
      );
      records++;
    },
    digest: () => ({
      records,
      sum: [...sums].map((lane) => lane.toString(16).padStart(8, '0')).join(''),
    }),
  };
}

/** One spelling of a moment, and of an object whatever the order of its keys. */
function canonical(value: unknown): unknown {
  if (typeof value === 'string') return INSTANT.test(value) ? new Date(value).toISOString() : value;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value ?? null;
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * The digest of what a correct program writes: `project` says so for one row, undefined for a row
 * that is left out.
 */
export function expectedDigest(
  rows: number,
  project: (index: number) => readonly unknown[] | undefined,
): Digest {
  const digest = createDigest();
  for (let index = 0; index < rows; index++) {
    const values = project(index);
    if (values !== undefined) digest.add(values);
  }
  return digest.digest();
}
