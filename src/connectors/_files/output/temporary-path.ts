import { createHash, randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../../../lib/files/file-fault.ts';

const SUFFIX = '.svc-tmp';
/** A temporary file of another machine that has not changed for so long was left behind. */
const FOREIGN_MS = 24 * 60 * 60 * 1000;

const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 6);
/** In all names that this process makes; its id alone may be that of an earlier process. */
const OURS = randomUUID().slice(0, 8);
let made = 0;

/**
 * A unique path in the folder of `path` for unfinished output. It names the process that writes it,
 * so that a later one recognises what a killed process has left.
 */
export function temporaryPath(path: string): string {
  const unique = `${HOST}-${process.pid}-${OURS}${(made++).toString(16)}`;
  return join(dirname(path), `.${basename(path)}.${unique}${SUFFIX}`);
}

/** A path in the folder of `path` that a later run with the same `start` finds again. */
export function resumablePath(path: string, start: string): string {
  const digest = createHash('sha256').update(start).digest('hex').slice(0, 8);
  return join(dirname(path), `.${basename(path)}.from-${digest}${SUFFIX}`);
}

/** What earlier runs have left for a later one to go on with. */
export async function resumableFiles(path: string): Promise<string[]> {
  const start = `.${basename(path)}.from-`;
  const names = await readdir(dirname(path)).catch(() => []);
  return names
    .filter((name) => name.startsWith(start) && isTemporaryName(name))
    .map((name) => join(dirname(path), name));
}

/** Whether a file name is one of ours for unfinished output. */
export function isTemporaryName(name: string): boolean {
  return name.endsWith(SUFFIX);
}

const NAME = /^\.(.+)\.([0-9a-f]{6})-(\d+)-([0-9a-f]{8,})\.svc-tmp$/;

/** A folder of fewer names is listed by each run. */
const MANY_NAMES = 1000;
/** So listing a larger one takes about a hundredth of the time, however many runs write into it. */
const PAUSE_MS_PER_NAME = 0.1;
/** Folders of many names, with when they may be listed again (`performance.now()`). */
const pauses = new Map<string, number>();

/**
 * Removes what killed runs have left of the files that `belongs` names. Best effort: never throws,
 * and in a folder of many files some may stay until a later run.
 */
export async function removeLeftovers(
  folder: string,
  belongs: (name: string) => boolean,
): Promise<void> {
  if (performance.now() < (pauses.get(folder) ?? 0)) return;
  const names = await readdir(folder).catch(() => []);
  if (names.length < MANY_NAMES) pauses.delete(folder);
  else pauses.set(folder, performance.now() + names.length * PAUSE_MS_PER_NAME);
  for (const name of names) {
    if (!isTemporaryName(name)) continue;
    const [, target, host, pid, unique = ''] = NAME.exec(name) ?? [];
    if (target === undefined || !belongs(outermost(target))) continue;
    const path = join(folder, name);
    const isLeft = host === HOST ? isDead(Number(pid), unique) : await isOld(path);
    if (isLeft) await rm(path, { force: true, recursive: true }).catch(() => {});
  }
}

/** A temporary file may have a temporary file of its own. */
function outermost(target: string): string {
  const inner = NAME.exec(target)?.[1];
  return inner === undefined ? target : outermost(inner);
}

function isDead(pid: number, unique: string): boolean {
  if (pid === process.pid) return !unique.startsWith(OURS);
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === 'ESRCH';
  }
}

async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > FOREIGN_MS;
}
