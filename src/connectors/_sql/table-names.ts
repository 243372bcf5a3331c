/** Names of the tables a sink makes beside its own. */
import { createHash } from 'node:crypto';

/** PostgreSQL cuts longer names, and a cut name could be the name of the table itself. */
const NAME_BYTES = 63;

/** The name with an ending, or one made from a hash when that is too long. */
export function endedName(table: string, ending: string): string {
  const name = `${table}${ending}`;
  if (Buffer.byteLength(name) <= NAME_BYTES) return name;
  return `svc_${createHash('sha256').update(table).digest('hex').slice(0, 16)}${ending}`;
}

/** Where an overwrite collects its rows. */
export function stagingName(table: string): string {
  return endedName(table, '__svc_ovw');
}
