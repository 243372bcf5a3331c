/** Templates as files of a folder. */
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, extname, join, relative, sep } from 'node:path';
import { readRegularSync } from '../../../lib/files/regular-file.ts';
import type { OriginFile, WrittenTemplate } from './origin.ts';

const EXTENSIONS = ['.yaml', '.yml', '.json'];
const SIDECAR = /\.(?:svc|headgate)\.ya?ml$/;
const MOST_FILES = 10_000;
/** A larger document is no document. */
const MOST_BYTES = 4 * 1024 * 1024;

/** Hidden folders such as `.git` are passed over. */
export async function filesOfFolder(folder: string, signal: AbortSignal): Promise<OriginFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((name) => !name.split('/').some((step) => step.startsWith('.')))
    .sort();
  if (names.length > MOST_FILES) throw new Error(`${folder} holds more than ${MOST_FILES} files`);
  const all = new Set(names);
  const bodies = names.filter((name) => EXTENSIONS.includes(extname(name)) && !SIDECAR.test(name));
  return bodies.map((name) => {
    signal.throwIfAborted();
    const stem = name.slice(0, -extname(name).length);
    const beside = ['.svc.yaml', '.svc.yml', '.headgate.yaml', '.headgate.yml']
      .map((end) => stem + end)
      .find((one) => all.has(one));
    return {
      name,
      text: { body: read(folder, name), format: extname(name) === '.json' ? 'json' : 'yaml' },
      sidecar: beside === undefined ? undefined : read(folder, beside),
    };
  });
}

function read(folder: string, name: string): string {
  const bytes = readRegularSync(join(folder, name), MOST_BYTES);
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** Each file is replaced as a whole. */
export async function writeToFolder(
  folder: string,
  files: readonly WrittenTemplate[],
): Promise<void> {
  for (const { name, content } of files) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    const temporary = `${path}.${process.pid}.tmp`;
    await writeFile(temporary, content);
    await rename(temporary, path);
  }
}
