import { quoteName } from '../../lib/sql/sql-name.ts';

/** What an upsert does with a row whose key is there. */
export function onConflict(names: readonly string[], keys: readonly string[]): string {
  const rest = names.filter((name) => !keys.includes(name)).map(quoteName);
  return rest.length === 0
    ? 'DO NOTHING'
    : `DO UPDATE SET ${rest.map((name) => `${name} = excluded.${name}`).join(', ')}`;
}
