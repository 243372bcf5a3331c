/**
 * The release before this build, from the history of the repository: its sources with the libraries
 * of this checkout.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

export interface Release {
  readonly version: string;
  readonly launcher: string;
  remove(): void;
}

/** Undefined in a copy without the commits since then. */
export function releaseBefore(): Release | undefined {
  const found = git('log', '--format=%H %s', '--grep=^release: ', '-n', '1', 'HEAD')?.trim();
  const [, commit, version] = /^(\w+) release: (\S+)$/.exec(found ?? '') ?? [];
  if (commit === undefined || version === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'headgate-release-'));
  const checkout = join(folder, 'checkout');
  mkdirSync(checkout);
  execFileSync('sh', ['-c', `git archive ${commit} | tar -x -C "$0"`, checkout], { cwd: ROOT });
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  return {
    version,
    launcher: join(checkout, 'bin/headgate.js'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function git(...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return undefined;
  }
}
