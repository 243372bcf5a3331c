import { STATE_TABLE } from '../../kit/state-store.ts';
import { TOKEN_TABLE } from '../_sql/driver.ts';

export const OWN_TABLES: ReadonlySet<string> = new Set([TOKEN_TABLE, STATE_TABLE]);

/**
 * Whether runs store in the table how far they have come. A run that read its own progress as a
 * change would store that it has read it, and so on: it would never end.
 */
export function isOwnTable(name: string): boolean {
  return OWN_TABLES.has(name);
}
