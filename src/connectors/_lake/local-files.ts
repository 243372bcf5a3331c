import { randomUUID } from 'node:crypto';
import { link, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConnectorError } from '../../lib/errors.ts';
import { permittedFile } from '../../lib/files/file-access.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';
import { renameOver } from '../../lib/files/regular-file.ts';
import { fileError, onDisk } from '../_files/io-error.ts';
import { codeOf } from '../../lib/files/file-fault.ts';
import { syncFolder } from '../_files/output/appending-file.ts';
import { removeLeftovers, temporaryPath } from '../_files/output/temporary-path.ts';
import { ParquetReader } from '../_files/parquet/parquet-reader.ts';
import type { ListedFile, OpenParquet, TableFiles } from './table-files.ts';

/** Systems that know no second name of a file. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

export class LocalFiles implements TableFiles {
  readonly isLocal = true;
  readonly address: string;
  readonly #root: string;
  readonly #signal: AbortSignal;

  constructor(root: string, signal: AbortSignal) {
    this.#root = root;
    this.#signal = signal;
    this.address = `${pathToFileURL(root).href.replace(/\/$/, '')}/`;
  }

  async list(below: string, after = ''): Promise<readonly ListedFile[]> {
    const folder = join(this.#root, below);
    this.#signal.throwIfAborted();
    const found = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw fileError(error, 'read', folder);
    });
    const names = found.filter((one) => one.isFile() && one.name > after).map(({ name }) => name);
    return Promise.all(
      names.toSorted().map(async (name) => {
        // One that was removed in the meantime is missed when it is read.
        const known = await stat(join(folder, name)).catch(() => undefined);
        return { name, modified: known?.mtime ?? new Date(0) };
      }),
    );
  }

  async walk(below: string): Promise<readonly string[]> {
    const folder = join(this.#root, below);
    const found = await readdir(folder, { withFileTypes: true, recursive: true }).catch(
      (error: unknown) => {
        if (codeOf(error) === 'ENOENT') return [];
        throw fileError(error, 'read', folder);
      },
    );
    return found
      .filter((one) => one.isFile())
      .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
      .toSorted();
  }

  async read(path: string): Promise<Buffer | undefined> {
    const file = this.#at(path);
    try {
      return await readFile(file, { signal: this.#signal });
    } catch (error) {
      this.#signal.throwIfAborted();
      if (codeOf(error) === 'ENOENT') return undefined;
      throw fileError(error, 'read', file);
    }
  }

  readParquet(path: string, { columns, omitNulls }: OpenParquet): Promise<ParquetReader> {
    return ParquetReader.open({
      path: this.#at(path),
      signal: this.#signal,
      choose: columns,
      omitNulls,
    });
  }

  /** A second name for a complete file: it is made only where there is none. */
  async create(path: string, bytes: Buffer): Promise<boolean> {
    const file = this.#at(path);
    const temporary = await this.#writeTemporary(file, bytes);
    try {
      await link(temporary, file);
    } catch (error) {
      const code = codeOf(error) ?? '';
      if (code === 'EEXIST') return false;
      if (!NO_LINKS.has(code)) throw fileError(error, 'write', file);
      throw new ConnectorError('refused', `cannot write ${file}: its file system has no links`, {
        hint: 'commits are made by hard links, so that two writers never make the same version; put the table on another file system or into a store',
        cause: error,
      });
    } finally {
      await rm(temporary, { force: true }).catch(() => {});
    }
    await syncFolder(file);
    return true;
  }

  async put(path: string, bytes: Buffer): Promise<void> {
    const file = this.#at(path);
    const temporary = await this.#writeTemporary(file, bytes);
    try {
      await onDisk('write', file, () => renameOver(temporary, file));
    } finally {
      await rm(temporary, { force: true }).catch(() => {});
    }
    await syncFolder(file);
  }

  async pathToWrite(path: string): Promise<string> {
    const file = this.#at(path);
    await this.#makeFolder(dirname(file));
    await removeLeftovers(dirname(file), (name) => name.endsWith('.parquet'));
    return file;
  }

  async deliver(path: string): Promise<number> {
    const file = this.#at(path);
    return (await onDisk('read', file, () => stat(file))).size;
  }

  async remove(path: string): Promise<void> {
    await rm(this.#at(path), { force: true }).catch(() => {});
  }

  async tryWrite(): Promise<void> {
    // The folder of the table may not be there yet: then the first one above that is.
    for (let folder = this.#root; ; folder = dirname(folder)) {
      const known = await stat(folder).catch(() => undefined);
      if (known === undefined && dirname(folder) !== folder) continue;
      if (known?.isDirectory() !== true)
        throw new ConnectorError('refused', `cannot write ${this.#root}: ${folder} is no folder`, {
          hint: 'name a folder',
        });
      const probe = join(folder, `.headgate-probe-${randomUUID()}`);
      await onDisk('write into', folder, async () => (await open(probe, 'wx')).close());
      return rm(probe, { force: true });
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #writeTemporary(file: string, bytes: Buffer): Promise<string> {
    this.#signal.throwIfAborted();
    await this.#makeFolder(dirname(file));
    const temporary = temporaryPath(file);
    await onDisk('write', file, () => writeFile(temporary, bytes, { flag: 'wx', flush: true }));
    return temporary;
  }

  async #makeFolder(folder: string): Promise<void> {
    await onDisk('create the folder', folder, () => makeFolder(folder));
  }

  /** Nothing that a table names lies outside of the table. */
  #at(path: string): string {
    const file = join(this.#root, path);
    const inside = relative(this.#root, file);
    if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || basename(file) === '')
      throw new ConnectorError('data', `the table names a file outside of its folder: ${path}`);
    return permittedFile(file);
  }
}
