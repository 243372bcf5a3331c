/**
 * Plays the session of the README in a terminal and draws it into `docs/session.svg`:
 * `npm run recording`. It needs `script` of util-linux, which runs a program in a terminal.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drawSession } from './recording/draw.ts';
import { COLUMNS, play } from './recording/session.ts';

const ROOT = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'headgate-session-'));

/** All arguments are words without anything that a shell would read differently. */
function headgate(args: readonly string[]): string {
  const program = `'${process.execPath}' '${join(ROOT, 'bin/headgate.js')}' ${args.join(' ')}`;
  return execFileSync('script', ['-qec', `stty cols ${COLUMNS} rows 40; ${program}`, '/dev/null'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], HOME: folder, TERM: 'xterm' },
  });
}

try {
  const played = await play({
    write: (name, text) => writeFileSync(join(folder, name), text),
    headgate,
  });
  writeFileSync(join(ROOT, 'docs/session.svg'), drawSession(played));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
