/**
 * Names as the library takes them. It refuses those that the specification does not allow, but
 * programs write them: classes inside of others have a `$` in Java, and fields have hyphens. A field
 * called `__proto__` it takes for something else.
 */

/**
 * The same name where it is allowed for a field or a symbol; otherwise one that stands for it, and
 * for no other.
 */
export function libraryName(name: string): string {
  if (name === '__proto__') return `_x${hex('_')}_${name.slice(1)}`;
  const letters = name.replaceAll(/\W/gu, (letter) => `_x${hex(letter)}_`);
  return /^\d/.test(letters) ? `_x_${letters}` : letters;
}

function hex(letter: string): string {
  return (letter.codePointAt(0) ?? 0).toString(16);
}

/** Names of types have dots between those of their namespace. */
function typeName(name: string): string {
  return name.split('.').map(libraryName).join('.');
}

/** The schema with all names of types, fields and symbols as the library takes them. */
export function withLibraryNames(schema: unknown): unknown {
  if (typeof schema === 'string') return typeName(schema);
  if (Array.isArray(schema)) return schema.map(withLibraryNames);
  if (typeof schema !== 'object' || schema === null) return schema;
  const made: Record<string, unknown> = { ...schema };
  for (const key of ['name', 'namespace'])
    if (typeof made[key] === 'string') made[key] = typeName(made[key]);
  for (const key of ['type', 'items', 'values'])
    if (made[key] !== undefined) made[key] = withLibraryNames(made[key]);
  if (Array.isArray(made['aliases'])) made['aliases'] = made['aliases'].map(withLibraryNames);
  if (Array.isArray(made['fields'])) made['fields'] = made['fields'].map(withFieldNames);
  return withSymbols(made);
}

function withFieldNames(field: unknown): unknown {
  const made = withLibraryNames(field) as Record<string, unknown>;
  const { name, aliases } = field as { name?: unknown; aliases?: unknown };
  if (typeof name === 'string') made['name'] = libraryName(name);
  if (Array.isArray(aliases)) made['aliases'] = aliases.map((one) => libraryName(String(one)));
  return made;
}

function withSymbols(made: Record<string, unknown>): Record<string, unknown> {
  const { symbols, default: usual } = made;
  if (!Array.isArray(symbols)) return made;
  const known = { ...made, symbols: symbols.map((symbol) => libraryName(String(symbol))) };
  return typeof usual === 'string' ? { ...known, default: libraryName(usual) } : known;
}

/** Files are read with the schema they were written with, which needs no defaults; some are wrong. */
export function withoutDefaults(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutDefaults);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { default: _, ...rest } = schema as Record<string, unknown>;
  for (const key of ['type', 'items', 'values', 'fields'])
    if (rest[key] !== undefined) rest[key] = withoutDefaults(rest[key]);
  return rest;
}
