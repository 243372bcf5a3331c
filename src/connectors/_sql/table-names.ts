/** Names of the additional tables that a sink creates. */
import { createHash, randomBytes } from 'node:crypto';

/**
 * PostgreSQL truncates longer names, and a truncated name could be the name of the table itself.
 */
export const NAME_BYTES = 63;

/** The name with an ending, or a name made from a hash when that is too long. */
export function endedName(table: string, ending: string): string {
  const name = `${table}${ending}`;
  if (Buffer.byteLength(name) <= NAME_BYTES) return name;
  return `svc_${createHash('sha256').update(table).digest('hex').slice(0, 16)}${ending}`;
}

/** The table in which an overwrite collects its rows. */
export interface StagingName {
  /** Unique. */
  readonly name: string;
  /**
   * The common prefix of all runs that replace the same rows; the tables of killed runs remain and
   * are found by it.
   */
  readonly prefix: string;
}

const UNIQUE_BYTES = 4;

/** `part`: the part of the table that is replaced; all of it when absent. */
export function stagingName(table: string, part = 'all'): StagingName {
  const unique = randomBytes(UNIQUE_BYTES).toString('hex');
  const name = endedName(table, `__svc_ovw_${part}_${unique}`);
  return { name, prefix: name.slice(0, -unique.length) };
}

/** A short name for a part of a table; the same part always has the same name. */
export function partName(description: string): string {
  return createHash('sha256').update(description).digest('hex').slice(0, 8);
}
