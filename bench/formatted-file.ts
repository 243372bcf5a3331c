import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './machine.ts';

/**
 * Writes a file the way the house formats files, so that generating it again leaves no difference.
 */
export function writeFormatted(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  execFileSync(join(ROOT, 'node_modules/.bin/oxfmt'), [path], { cwd: ROOT, stdio: 'ignore' });
}
