import { open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ProbeFinding } from '../../../kit/probe.ts';
import { messageOf } from '../../../lib/errors.ts';
import { fileError } from '../io-error.ts';
import { temporaryPath } from './temporary-path.ts';
import { makeFolder } from '../../../lib/files/make-folder.ts';

/** The `io` probe of file sinks: creates and removes a file in the folder of the output. */
export async function probeFolder(path: string): Promise<ProbeFinding[]> {
  if (await isFolder(path)) {
    return [
      {
        name: 'io',
        status: 'fail',
        reason: `cannot write ${path}: it is a folder`,
        hint: 'name a file in it',
      },
    ];
  }
  const made = await firstMissing(dirname(path));
  const file = temporaryPath(path);
  try {
    await makeFolder(dirname(path));
    await (await open(file, 'wx')).close();
    return [{ name: 'io', status: 'pass' }];
  } catch (error) {
    const reason = messageOf(fileError(error, 'write into', dirname(path)));
    return [
      {
        name: 'io',
        status: 'fail',
        reason,
        hint: 'make the folder writable for the user that runs the process, or choose another path',
      },
    ];
  } finally {
    await rm(file, { force: true }).catch(() => {});
    if (made !== undefined) await rm(made, { recursive: true, force: true }).catch(() => {});
  }
}

/** The topmost folder of a path that does not exist yet. */
async function firstMissing(folder: string): Promise<string | undefined> {
  let missing: string | undefined;
  let at = folder;
  while (!(await exists(at)) && dirname(at) !== at) {
    missing = at;
    at = dirname(at);
  }
  return missing;
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
