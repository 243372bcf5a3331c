import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesRoot } from '../../lib/files/file-access.ts';
import { onDisk } from '../_files/io-error.ts';
import { removeLeftovers, temporaryPath } from '../_files/output/temporary-path.ts';

const NAME = 'headgate-objects';

/**
 * Readable by this user alone; where documents may only use one folder, in that. What killed runs
 * have left is removed.
 */
export async function temporaryFolder(): Promise<string> {
  const base = filesRoot() ?? tmpdir();
  await removeLeftovers(base, (name) => name === NAME);
  const path = temporaryPath(join(base, NAME));
  await onDisk('write into', base, () => mkdir(path, { mode: 0o700 }));
  return path;
}
