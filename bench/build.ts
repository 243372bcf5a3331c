/** Which build of the program is measured. */
import { join } from 'node:path';
import { buildPackage } from '../scripts/build.ts';
import { ROOT } from './machine.ts';

/** What users install, or the sources of this checkout, which take longer to start. */
export type Build = 'bundle' | 'sources';

let launcher = join(ROOT, 'bin/headgate.js');

export function launcherPath(): string {
  return launcher;
}

export async function chooseBuild(build: Build, folder: string): Promise<void> {
  if (build === 'sources') process.env['HEADGATE_SOURCES'] = '1';
  else launcher = await buildPackage(join(folder, 'package'));
}
