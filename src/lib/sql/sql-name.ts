/** A name as SQL reads it literally: in double quotes, inner quotes doubled. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteNames(names: readonly string[]): string {
  return names.map(quoteName).join(', ');
}

/** The action of an upsert for a key that exists. */
export function onConflict(names: readonly string[], keys: readonly string[]): string {
  const rest = names.filter((name) => !keys.includes(name)).map(quoteName);
  return rest.length === 0
    ? 'DO NOTHING'
    : `DO UPDATE SET ${rest.map((name) => `${name} = excluded.${name}`).join(', ')}`;
}

/** For databases that ignore the case of letters in names; they do not all agree beyond ASCII. */
export function inOneCase(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
