/** Names of databases that read a name without quotes in capital letters. */
import { quoteName } from '../../lib/sql/sql-name.ts';

const PLAIN = /^[A-Za-z_][A-Za-z0-9_$]*$/;
const QUOTED = /^"((?:[^"]|"")+)"$/;

/**
 * The name that a written one stands for, as in a statement: a `plain` one, which needs no quotes, is
 * folded to upper case, one in quotes is taken as it is.
 */
export function foldedName(written: string, plain = PLAIN): string {
  const quoted = QUOTED.exec(written)?.[1];
  if (quoted !== undefined) return quoted.replaceAll('""', '"');
  return plain.test(written) ? written.toUpperCase() : written;
}

/** For statements. */
export function identifier(written: string): string {
  return quoteName(foldedName(written));
}
