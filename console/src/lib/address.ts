/**
 * Where in the console we are: `#/runs?status=failed`. It lies behind the `#`, so that it reaches
 * no log of a server, and so that every address is one that the server knows.
 */
import { createStore } from './create-store.ts';

export interface Address {
  readonly path: readonly string[];
  readonly query: ReadonlyMap<string, string>;
}

export type Query = Readonly<Record<string, string | undefined>>;

export const address = createStore(readAddress(location.hash));

addEventListener('hashchange', () => address.set(readAddress(location.hash)));

export function readAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map((part) => decoded(part)),
    query: new Map(new URLSearchParams(query)),
  };
}

/** Somebody may have typed it. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function linkTo(path: readonly string[], query: Query = {}): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  // Commas and colons stay readable.
  const search = new URLSearchParams(given)
    .toString()
    .replaceAll('%2C', ',')
    .replaceAll('%3A', ':');
  return `#/${path.map((part) => encodeURIComponent(part)).join('/')}${search === '' ? '' : `?${search}`}`;
}

export function goTo(link: string): void {
  location.hash = link;
}

/** Changes the query of this page, as a new place in the browser's history only where asked. */
export function setQuery(changes: Query): void {
  const { path, query } = address.get();
  const link = linkTo(path, { ...Object.fromEntries(query), ...changes });
  history.replaceState(null, '', link);
  address.set(readAddress(link));
}
