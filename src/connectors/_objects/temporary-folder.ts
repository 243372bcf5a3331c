import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesRoot } from '../../lib/files/file-access.ts';
import { onDisk } from '../_files/io-error.ts';

/** Readable by this user alone; where documents may only use one folder, in that. */
export function temporaryFolder(): Promise<string> {
  const base = filesRoot() ?? tmpdir();
  return onDisk('write into', base, () => mkdtemp(join(base, '.headgate-objects-')));
}
