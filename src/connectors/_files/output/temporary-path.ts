import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';

const SUFFIX = '.svc-tmp';

/** A name beside `path` for output that is not finished; no two calls give the same one. */
export function temporaryPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomUUID().slice(0, 8)}${SUFFIX}`);
}

/** Whether a file name is one of ours for unfinished output. */
export function isTemporaryName(name: string): boolean {
  return name.endsWith(SUFFIX);
}
