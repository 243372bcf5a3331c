import { rename, writeFile } from 'node:fs/promises';

/** Whole or not at all: a command that rewrites a document must not lose it to a full disk. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const fresh = `${file}.${process.pid}.svc-tmp`;
  await writeFile(fresh, text);
  await rename(fresh, file);
}
