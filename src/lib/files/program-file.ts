import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Path of a file that is started as a separate program, given by its path in the sources without
 * the extension (`worker`): the source in a checkout, its bundle in a package (`scripts/build.ts`
 * lists them).
 */
export function programFile(name: string): string {
  const source = new URL(`../../${name}.ts`, import.meta.url);
  return fileURLToPath(existsSync(source) ? source : new URL(`./${name}.cjs`, import.meta.url));
}

/** The folder that holds the `package.json` of this program, whether sources or a bundle run. */
export function packageFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const above = dirname(folder);
    if (above === folder) throw new Error('cannot happen: the program has no package.json');
    folder = above;
  }
  return folder;
}
