import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from './files/program-file.ts';

let known: string | undefined;

/** The version of this program, in a checkout and in a package. */
export function programVersion(): string {
  return (known ??= readVersion());
}

function readVersion(): string {
  const manifest = readFileSync(join(packageFolder(), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
