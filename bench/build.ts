/** Which build of the program is measured. */
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buildBundle } from '../scripts/build.ts';
import { ROOT } from './machine.ts';

/** What users install, or the sources of this checkout, which take longer to start. */
export type Build = 'bundle' | 'sources';

const LAUNCHER = 'bin/headgate.js';

let launcher = join(ROOT, LAUNCHER);

export function launcherPath(): string {
  return launcher;
}

/**
 * The bundle gets a folder of its own: nothing that is written into the checkout meanwhile changes
 * what is measured.
 */
export async function chooseBuild(build: Build, folder: string): Promise<void> {
  if (build === 'sources') {
    process.env['HEADGATE_SOURCES'] = '1';
    return;
  }
  const installed = join(folder, 'package');
  rmSync(installed, { recursive: true, force: true });
  mkdirSync(installed, { recursive: true });
  await buildBundle(installed);
  for (const name of ['bin', 'package.json'])
    cpSync(join(ROOT, name), join(installed, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
  launcher = join(installed, LAUNCHER);
}
