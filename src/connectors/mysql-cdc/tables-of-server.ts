/** What the server knows of the tables that the config names. */
import type { Connection } from 'mysql2';
import type { Log } from '../../lib/log.ts';
import { splitName } from './read/table-filter.ts';
import { rowsOf } from './session.ts';

/** Those that this user does not see. */
export function missingTables(usual: Connection, names: readonly string[]): Promise<string[]> {
  return filtered(names, async (place) => {
    const sql = `SELECT 1 FROM information_schema.TABLES WHERE ${place('TABLE_SCHEMA')}`;
    return (await rowsOf(usual, sql)).length === 0;
  });
}

/** Those whose rows the storage engine changes by itself, which the log does not tell. */
function cascadedTables(usual: Connection, names: readonly string[]): Promise<string[]> {
  const acts = "IN ('CASCADE', 'SET NULL', 'SET DEFAULT')";
  return filtered(names, async (place) => {
    const sql = `SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE ${place('CONSTRAINT_SCHEMA')} AND (DELETE_RULE ${acts} OR UPDATE_RULE ${acts})`;
    return (await rowsOf(usual, sql)).length > 0;
  });
}

const CASCADE_HINT =
  'delete and change those rows by statements or by the application, or compare the tables from time to time (`headgate verify`)';

/** A run goes on without them: a table may be made later, or never be changed in this way. */
export async function tellOfTables(
  usual: Connection,
  names: readonly string[],
  log: Pick<Log, 'warn'>,
): Promise<void> {
  for (const table of await missingTables(usual, names))
    log.warn('there is no such table, or this user does not see it', { table });
  for (const table of await cascadedTables(usual, names))
    log.warn('changes of a table by its foreign key (CASCADE, SET NULL) are not in the log', {
      table,
      hint: CASCADE_HINT,
    });
}

/** `place` is the condition for the table, given the name of the column of its database. */
async function filtered(
  names: readonly string[],
  holds: (place: (schemaColumn: string) => string) => Promise<boolean>,
): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    const { schema, table } = splitName(name);
    const place = (column: string): string =>
      `${column} = ${literal(schema)} AND TABLE_NAME = ${literal(table)}`;
    if (await holds(place)) found.push(name);
  }
  return found;
}

/** A text that nothing in it can end. */
function literal(text: string): string {
  return `_utf8mb4 X'${Buffer.from(text).toString('hex')}'`;
}
