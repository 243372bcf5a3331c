/** Makes a program of a module here, as an installer would: documents name it by its path. */
import { writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

export function installProgram(
  folder: string,
  module: 'tap' | 'target' | 'silent-target' | '../airbyte/source' | '../airbyte/destination',
): string {
  const path = join(folder, basename(module));
  const script = resolve(import.meta.dirname, `${module}.mjs`);
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`, { mode: 0o755 });
  return path;
}
