/** Which spec files the arguments of `test` mean. */
import { glob, stat } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../lib/errors.ts';

const SPECS_BELOW = '**/*.test.{yaml,yml,json}';
const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', '.git']);

/** Absolute, each once, in the order of the arguments; what one argument finds is sorted. */
export async function specFiles(named: readonly string[], cwd: string): Promise<readonly string[]> {
  const files = new Set<string>();
  for (const one of named.length === 0 ? ['.'] : named) {
    for (const file of await filesOf(one, cwd)) files.add(file);
  }
  return [...files];
}

async function filesOf(named: string, cwd: string): Promise<readonly string[]> {
  const target = path.resolve(cwd, named);
  const found = await stat(target).catch(() => undefined);
  if (found?.isDirectory() === true)
    return some(
      await matching(SPECS_BELOW, target),
      `there is no \`*.test.yaml\` in ${named} or below`,
    );
  if (found !== undefined) return [target];
  return some(await matching(named, cwd), `there is no spec file \`${named}\``);
}

async function matching(pattern: string, cwd: string): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob(pattern, {
    cwd,
    exclude: (name) => LEFT_OUT.has(path.basename(name)),
  }))
    found.push(path.resolve(cwd, file));
  return found.sort();
}

function some(files: readonly string[], message: string): readonly string[] {
  if (files.length > 0) return files;
  throw new AppError('no_spec', message, {
    hint: 'name a file with a list of `tests`; see docs/guide/testing.md',
  });
}
