/**
 * A file that is about to be replaced keeps another name until what was added to it meanwhile is in
 * the new one. Where its process is killed before, that name is found by the next one.
 */
import { link, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** The old file of a process that was killed. */
export interface LeftFile {
  readonly path: string;
  /** How much of it had been read when it was replaced. */
  readonly read: number;
}

/** Undefined where the file system gives files one name only. */
export async function keepAside(file: string, read: number): Promise<string | undefined> {
  const aside = join(dirname(file), `${prefix(file)}${read}${SUFFIX}`);
  return link(file, aside).then(
    () => aside,
    () => undefined,
  );
}

/** Old files of `file`. To be asked by who has its lock: others may be about to copy them. */
export async function leftFiles(file: string): Promise<readonly LeftFile[]> {
  const { ino } = await stat(file);
  const left: LeftFile[] = [];
  for (const name of await namesOfLeft(file)) {
    const path = join(dirname(file), name);
    // Its process was killed before it replaced the file.
    if ((await stat(path)).ino === ino) await rm(path);
    else left.push({ path, read: readOf(file, name) });
  }
  return left;
}

export async function areLeft(file: string): Promise<boolean> {
  return (await namesOfLeft(file)).length > 0;
}

const SUFFIX = '.replaced';

async function namesOfLeft(file: string): Promise<string[]> {
  const names = await readdir(dirname(file));
  return names.filter((name) => Number.isInteger(readOf(file, name)));
}

function prefix(file: string): string {
  return `.${basename(file)}.`;
}

/** NaN: it is the name of another file. */
function readOf(file: string, name: string): number {
  if (!name.startsWith(prefix(file)) || !name.endsWith(SUFFIX)) return Number.NaN;
  const digits = name.slice(prefix(file).length, -SUFFIX.length);
  return /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
}
