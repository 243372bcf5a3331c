/** What a data set is called outside: the same from wherever the program was started. */
import { isAbsolute, resolve } from 'node:path';
import { localAddress } from '../../lib/http/local-address.ts';

/** A relative path made absolute, so that the same file has the same address in every folder. */
export function withWholePath(uri: string, cwd: string): string {
  const local = localAddress(uri);
  if (local === undefined) return uri;
  const { scheme, rest } = local;
  const cut = scheme === 'file' ? -1 : rest.indexOf('?');
  const [path, query] = cut === -1 ? [rest, ''] : [rest.slice(0, cut), rest.slice(cut)];
  if (path === '' || path.startsWith(':') || isAbsolute(path)) return uri;
  return `${scheme}://${resolve(cwd, path)}${query}`;
}
