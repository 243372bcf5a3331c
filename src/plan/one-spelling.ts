import { normalize } from 'node:path';

/** Addresses of these schemes are paths of this machine. */
const LOCAL = /^((?:file|sqlite|duckdb):\/\/)(.*)$/s;

/** The address of a data set, with a path of this machine spelled in one of its ways: two rows may write `out/a.db` and `./out/a.db`. */
export function inOneSpelling(uri: string): string {
  const [, scheme, path] = LOCAL.exec(uri) ?? [];
  return scheme === undefined || path === undefined ? uri : `${scheme}${normalize(path)}`;
}
