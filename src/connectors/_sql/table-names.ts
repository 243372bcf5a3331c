/** Names of the tables a sink makes beside its own. */
import { createHash, randomBytes } from 'node:crypto';

/** PostgreSQL cuts longer names, and a cut name could be the name of the table itself. */
const NAME_BYTES = 63;

/**
 * For databases to which names that differ only in the case of their letters are one; beyond ASCII
 * not all of them agree.
 */
export function inOneCase(table: string): string {
  return table.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The name with an ending, or one made from a hash when that is too long. */
export function endedName(table: string, ending: string): string {
  const name = `${table}${ending}`;
  if (Buffer.byteLength(name) <= NAME_BYTES) return name;
  return `svc_${createHash('sha256').update(table).digest('hex').slice(0, 16)}${ending}`;
}

/** Where an overwrite collects its rows. */
export interface StagingName {
  /** Nobody else's. */
  readonly name: string;
  /**
   * What the names of all have in common that replace the same: of those that are killed they stay.
   */
  readonly prefix: string;
}

const UNIQUE_BYTES = 4;

/** `part`: what of the table is replaced; all of it when absent. */
export function stagingName(table: string, part = 'all'): StagingName {
  const unique = randomBytes(UNIQUE_BYTES).toString('hex');
  const name = endedName(table, `__svc_ovw_${part}_${unique}`);
  return { name, prefix: name.slice(0, -unique.length) };
}

/** A short name for a part of a table, the same whenever it is the same part. */
export function partName(description: string): string {
  return createHash('sha256').update(description).digest('hex').slice(0, 8);
}
