/**
 * Which files documents may open in this process. It is one setting of the whole process, made
 * before the first document is read: every function that opens a file checks it, so no part can
 * forget to pass it on. Without it all files are allowed, as on the command line.
 */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { FileAccess } from '../access.ts';
import { ConnectorError } from '../errors.ts';

const MAX_LINKS = 40;
/** Environments, command lines and open files of processes, the server among them. */
const OF_PROCESSES = /^\/proc\/\d+(?:\/|$)/;

export class FileRefusedError extends ConnectorError {
  constructor(path: string, why: string, hint: string) {
    super('refused', `the file \`${path}\` may not be used: ${why}`, { hint });
  }
}

/** More than one job asks for; what a walk over a large folder asks is not kept. */
const MAX_REMEMBERED = 1000;

let access: FileAccess | undefined;
/** Paths that the job at hand may open; absent where nobody says when a job begins. */
let permitted: Set<string> | undefined;

/** For worker processes and their threads; `undefined` opens everything again. */
export function restrictFiles(chosen: FileAccess | undefined): void {
  permitted = undefined;
  access =
    chosen === undefined
      ? undefined
      : {
          refused: chosen.refused.map(realPlace),
          ...(chosen.root === undefined ? {} : { root: realPlace(chosen.root) }),
        };
}

/**
 * To be called when a worker begins a job: from now on a path is looked up on the disk once, and
 * not again each time that the job opens it. Every job looks anew.
 */
export function beginFileChecks(): void {
  permitted = access === undefined ? undefined : new Set();
}

/** What was set, for another thread of this process. */
export function fileAccess(): FileAccess | undefined {
  return access;
}

/**
 * The folder that must contain all files, with its links resolved; undefined without such a limit.
 */
export function filesRoot(): string | undefined {
  return access?.root;
}

/** Returns the path when it may be opened. */
export function permittedFile(path: string): string {
  if (access === undefined || permitted?.has(path) === true) return path;
  const place = realPlace(resolve(path));
  const { root, refused } = access;
  if (root !== undefined && !isWithin(place, root)) {
    throw new FileRefusedError(
      path,
      'it lies outside of the folder that documents may use',
      'use a path in the folder that the server was given with `--data-root`',
    );
  }
  if (refused.includes(place) || OF_PROCESSES.test(place))
    throw new FileRefusedError(path, 'it belongs to the server', 'use a file of your own');
  if (permitted !== undefined && permitted.size < MAX_REMEMBERED) permitted.add(path);
  return path;
}

function isWithin(place: string, root: string): boolean {
  return place === root || place.startsWith(root.endsWith(sep) ? root : root + sep);
}

/**
 * The target of a path with its links resolved, also when it does not exist yet: writing to a link
 * without a target creates that target.
 */
function realPlace(path: string, links = 0): string {
  // Most outputs are new files, and an error that is thrown costs more than this question.
  if (isAbsent(path)) {
    const folder = dirname(path);
    return folder === path ? path : join(realPlace(folder, links), basename(path));
  }
  try {
    return realpathSync.native(path);
  } catch {
    const folder = dirname(path);
    if (folder === path) return path;
    const parent = realPlace(folder, links);
    const own = join(parent, basename(path));
    const target = links < MAX_LINKS ? linkTarget(own) : undefined;
    return target === undefined ? own : realPlace(resolve(parent, target), links + 1);
  }
}

/** Neither a file nor a link, not even one without a target. */
function isAbsent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
