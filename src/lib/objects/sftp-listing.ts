/** The files of a folder of an SFTP server in the order of their paths, few of which are in memory. */
import type { FileEntryWithStats, Stats } from 'ssh2';
import type { RunRequest, StoredObject } from './object-store.ts';
import { codeOf, kindOf, sftpError, type SftpConnections } from './sftp-session.ts';

export interface Listing {
  readonly connections: SftpConnections;
  readonly run: RunRequest;
  readonly signal: AbortSignal;
}

export interface Wanted {
  /** Whether folders in the folder are listed as well. */
  readonly isDeep: boolean;
  readonly matches: (name: string) => boolean;
  /** Only paths behind this one. */
  readonly after?: string | undefined;
}

/** A folder is in the place that the paths in it have. */
interface Entry {
  /** With `/` at the end of a folder. */
  readonly name: string;
  readonly isFolder: boolean;
  readonly stats: Stats;
}

/** So many entries of a folder are sorted at once; more are asked for again. */
const SORTED = 50_000;
const PAGE = 1000;
const END_OF_LIST = 1;

/** `folder` is empty or ends with `/`. */
export async function* filesIn(
  folder: string,
  wanted: Wanted,
  listing: Listing,
): AsyncGenerator<readonly StoredObject[]> {
  const { isDeep, matches, after } = wanted;
  for (let from: string | undefined; ;) {
    const { entries, isAll } = await entriesIn(folder, from, listing);
    let page: StoredObject[] = [];
    for (const { name, isFolder, stats } of entries) {
      const path = folder + name;
      if (isFolder) {
        if (!isDeep || (after !== undefined && path < after && !after.startsWith(path))) continue;
        yield page;
        page = [];
        yield* filesIn(path, wanted, listing);
      } else if ((after === undefined || path > after) && matches(name))
        page.push(objectOf(path, stats));
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    yield page;
    from = entries.at(-1)?.name;
    if (isAll || from === undefined) return;
  }
}

export function objectOf(key: string, { size, mtime }: Stats): StoredObject {
  return { key, size, lastModified: new Date(mtime * 1000), version: `${mtime}-${size}` };
}

/** The first entries behind a name. Servers tell them in any order. */
export function entriesIn(
  folder: string,
  from: string | undefined,
  { connections, run, signal }: Listing,
): Promise<{ readonly entries: readonly Entry[]; readonly isAll: boolean }> {
  const failing = `the folder ${folder === '' ? '.' : folder} cannot be listed`;
  return run(failing, signal, async () => {
    let entries: Entry[] = [];
    let isAll = true;
    try {
      for await (const batch of batchesOf(folder, { connections, signal })) {
        for (const entry of batch) if (from === undefined || entry.name > from) entries.push(entry);
        if (entries.length < 2 * SORTED) continue;
        entries = entries.sort(byName).slice(0, SORTED);
        isAll = false;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw sftpError(error, failing);
    }
    return { entries: entries.sort(byName).slice(0, isAll ? undefined : SORTED), isAll };
  });
}

const byName = (a: Entry, b: Entry): number => (a.name < b.name ? -1 : 1);

async function* batchesOf(
  folder: string,
  { connections, signal }: Pick<Listing, 'connections' | 'signal'>,
): AsyncGenerator<Entry[]> {
  const session = await connections.get(signal);
  const { sftp } = session;
  const handle = await session.call<Buffer>(signal, (done) =>
    sftp.opendir(folder === '' ? '.' : folder, done),
  );
  try {
    for (;;) {
      const batch = await session
        .call<FileEntryWithStats[]>(signal, (done) => sftp.readdir(handle, done))
        .catch((error: unknown) => {
          if (codeOf(error) === END_OF_LIST) return undefined;
          throw error;
        });
      if (batch === undefined) return;
      const entries: Entry[] = [];
      for (const { filename, attrs } of batch) {
        if (filename === '.' || filename === '..') continue;
        const kind = kindOf(attrs);
        if (kind === 'folder') entries.push({ name: `${filename}/`, isFolder: true, stats: attrs });
        else if (kind === 'file') entries.push({ name: filename, isFolder: false, stats: attrs });
        else if (kind === 'link') {
          // Links to folders may lead in a circle.
          const stats = await session
            .call<Stats>(signal, (done) => sftp.stat(folder + filename, done))
            .catch((error: unknown) => {
              if (codeOf(error) === undefined) throw error;
              return undefined;
            });
          if (stats !== undefined && kindOf(stats) === 'file')
            entries.push({ name: filename, isFolder: false, stats });
        }
      }
      yield entries;
    }
  } finally {
    if (session.isOpen) sftp.close(handle, () => {});
  }
}
