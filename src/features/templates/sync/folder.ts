/** Templates as files of a folder. */
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, extname, join, relative, sep } from 'node:path';
import { readFileText } from '../../../document/text/file-text.ts';
import { RefusedError } from '../../../lib/errors.ts';
import { fileFault } from '../../../lib/files/file-fault.ts';
import { readRegularSync } from '../../../lib/files/regular-file.ts';
import type { OriginFile, UnreadFile, WrittenTemplate } from './origin.ts';

const EXTENSIONS = ['.yaml', '.yml', '.json'];
const SIDECAR = /\.(?:svc|headgate)\.ya?ml$/;
const MOST_FILES = 10_000;

/** Hidden folders such as `.git` are passed over. */
export async function filesOfFolder(
  folder: string,
  signal: AbortSignal,
): Promise<(OriginFile | UnreadFile)[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: unknown) => {
      const message = `the folder ${folder} cannot be read: ${fileFault(error).says}`;
      throw new RefusedError('unavailable', message, { cause: error });
    },
  );
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
    const body = readFileText(join(folder, name), readRegularSync);
    if (!body.ok) return { name, fault: body.fault.message };
    const sidecar =
      beside === undefined ? undefined : readFileText(join(folder, beside), readRegularSync);
    if (sidecar?.ok === false)
      return { name, fault: `the file beside it: ${sidecar.fault.message}` };
    const format = extname(name) === '.json' ? 'json' : 'yaml';
    return { name, text: { body: body.text, format }, sidecar: sidecar?.text };
  });
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
