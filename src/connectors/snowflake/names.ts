/** Names and texts as statements of this database read them. */
import { quoteName } from '../../lib/sql/sql-name.ts';

const PLAIN = /^[A-Za-z_][A-Za-z0-9_$]*$/;
const QUOTED = /^"((?:[^"]|"")+)"$/;

/**
 * The name that a written one stands for, as in a statement: a plain one is folded to upper case, one
 * in quotes is taken as it is.
 */
export function foldedName(written: string): string {
  const quoted = QUOTED.exec(written)?.[1];
  if (quoted !== undefined) return quoted.replaceAll('""', '"');
  return PLAIN.test(written) ? written.toUpperCase() : written;
}

/** For statements. */
export function identifier(written: string): string {
  return quoteName(foldedName(written));
}

/** A text in a statement. A backslash begins an escape here. */
export function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
