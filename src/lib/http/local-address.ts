/** Addresses of data sets that are local paths. */
import { normalize } from 'node:path';

const LOCAL = /^(file|sqlite|duckdb):\/\/(.*)$/s;

/** The scheme and the path; `undefined` for an address that is not local. */
export function localAddress(
  uri: string,
): { readonly scheme: string; readonly rest: string } | undefined {
  const [, scheme, rest] = LOCAL.exec(uri) ?? [];
  return scheme === undefined || rest === undefined ? undefined : { scheme, rest };
}

/** The address with a normalised path: two rows may write `out/a.db` and `./out/a.db`. */
export function inOneSpelling(uri: string): string {
  const local = localAddress(uri);
  return local === undefined ? uri : `${local.scheme}://${normalize(local.rest)}`;
}
