import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { PartContext } from '../../kit/context.ts';

type Places = Pick<PartContext['env'], 'cwd' | 'variables'>;

/** Its path; the name itself where there is no such program. */
export function findProgram(executable: string, env: Places): string {
  return placesOf(executable, env).find(isProgram) ?? executable;
}

export function hasProgram(executable: string, env: Places): boolean {
  return placesOf(executable, env).some(isProgram);
}

function placesOf(executable: string, { cwd, variables }: Places): readonly string[] {
  if (executable.includes('/')) return [resolve(cwd, executable)];
  return (variables['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, executable));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
