import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { drawnLines, sessionLines } from '../../scripts/recording/draw.ts';
import { play, SESSION } from '../../scripts/recording/session.ts';
import { launcherPath } from '../servers/bundle.ts';
import { makeFolder } from './folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const LAUNCHER = await launcherPath();
const drawn = readFileSync(join(ROOT, 'docs/session.svg'), 'utf8');

/** How long something took, and the width of the columns that say so. */
function withoutTimes(line: string): string {
  return line
    .replaceAll(/\d[\d.,]* (?:ms|s)\b(?: +[\d.,]+k?$)?/g, 'TIME')
    .replaceAll(/ {2,}/g, '  ')
    .trimEnd();
}

it('the session in the README prints what is shown; `npm run recording` draws it anew', async () => {
  const folder = makeFolder('session');
  try {
    const played = await play({
      write: (name, text) => folder.write(name, text),
      headgate: (args) => {
        // A terminal has one place for both streams.
        const both = openSync(join(folder.path, 'shown'), 'w');
        const env = { PATH: process.env['PATH'], HOME: folder.path, NO_COLOR: '1' };
        const { status } = spawnSync(process.execPath, [LAUNCHER, ...args], {
          cwd: folder.path,
          env,
          stdio: ['ignore', both, both],
        });
        closeSync(both);
        const shown = folder.text('shown');
        expect([args, status, shown]).toEqual([args, 0, shown]);
        return shown;
      },
    });
    const shown = drawnLines(drawn).map(withoutTimes);
    expect(shown).toEqual(sessionLines(played).map(withoutTimes));
    expect(shown.filter((line) => line.startsWith('$ '))).toEqual(
      SESSION.map(({ command }) => `$ ${command}`),
    );
  } finally {
    folder.remove();
  }
});

it('the drawn session is small, and nothing in it is loaded or executed', () => {
  expect(drawn.length).toBeLessThan(300_000);
  expect(drawn).not.toMatch(/<script|href|url\(|\son\w+=/);
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain('](docs/session.svg)');
});
