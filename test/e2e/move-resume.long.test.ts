/**
 * Bookmarks and interrupted runs: what was read is not read again, and what was lost with the
 * process is.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linesOf, makeFolder, type Folder } from './folder.ts';
import { launcherPath } from '../servers/bundle.ts';

const LAUNCHER = await launcherPath();
const FILES = 40;
const RECORDS_A_FILE = 4000;

let folder: Folder;
beforeAll(() => {
  folder = makeFolder('resume');
});
afterAll(() => folder.remove());

function incremental(name: string, inbox: string, sink: object): void {
  folder.document(`${name}.json`, {
    source: { type: 'file', config: { path: inbox, incremental: { by: 'name' } } },
    sink,
    state: { type: 'file', config: { path: `${name}.state` } },
  });
}

const appending = (path: string): object => ({ type: 'jsonl', config: { path, append: true } });

async function written(name: string, ...flags: string[]): Promise<number> {
  const { stdout, stderr } = await folder.run([
    'run',
    `${name}.json`,
    '--output',
    'json',
    '--quiet',
    ...flags,
  ]);
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as { totals: { rows_out: number } }).totals.rows_out;
}

describe('a bookmark', () => {
  it('lets the next run read only what is new, and is left alone by a dry run and a limit', async () => {
    folder.records('new/1.jsonl', [{ n: 1 }, { n: 2 }]);
    incremental('new', 'new', appending('new.out.jsonl'));
    expect(await written('new', '--dry-run')).toBe(2);
    expect(await written('new', '--limit', '1')).toBe(1);
    expect(
      existsSync(join(folder.path, 'new.state')) ? readdirSync(join(folder.path, 'new.state')) : [],
    ).toEqual([]);
    expect(await written('new')).toBe(2);
    expect(await written('new')).toBe(0);
    folder.records('new/2.jsonl', [{ n: 3 }]);
    expect(await written('new')).toBe(1);
    expect(folder.lines('new.out.jsonl')).toEqual([{ n: 1 }, { n: 1 }, { n: 2 }, { n: 3 }]);
    expect(readdirSync(join(folder.path, 'new.state'))).toEqual(['resume%3A%3Arow-0.json']);
  });

  it('moves on when a filter leaves nothing to write', async () => {
    folder.records('none/1.jsonl', [{ n: 1 }]);
    incremental('none', 'none', appending('none.out.jsonl'));
    const document = JSON.parse(folder.text('none.json')) as { pipeline: Record<string, unknown> };
    document.pipeline['transforms'] = [
      { type: 'filter', config: { path: 'n', op: 'eq', value: 2 } },
    ];
    folder.write('none.json', JSON.stringify(document));
    expect(await written('none')).toBe(0);
    folder.records('none/2.jsonl', [{ n: 2 }]);
    const { stdout } = await folder.run(['run', 'none.json', '--output', 'json', '--quiet']);
    expect(JSON.parse(stdout)).toMatchObject({
      rows: [{ rows_in: 1, rows_out: 1, bookmark: { name: '2.jsonl' } }],
    });
  });

  it('that is damaged is an error, and never a silent start from the beginning', async () => {
    folder.records('torn/1.jsonl', [{ n: 1 }]);
    incremental('torn', 'torn', appending('torn.out.jsonl'));
    await written('torn');
    folder.write('torn.state/resume%3A%3Arow-0.json', '{"name":');
    const { code, stderr } = await folder.run(['run', 'torn.json', '--quiet']);
    expect(code).toBe(1);
    expect(stderr).toContain('state');
    expect(folder.lines('torn.out.jsonl')).toHaveLength(1);
  });
});

describe('a process that is killed', () => {
  beforeAll(() => {
    for (let file = 0; file < FILES; file += 1) {
      const records = Array.from({ length: RECORDS_A_FILE }, (_, index) => ({
        id: file * RECORDS_A_FILE + index,
        pad: 'x'.repeat(60),
      }));
      folder.records(`kill/${String(file).padStart(3, '0')}.jsonl`, records);
    }
  });

  it.each([
    ['plain lines', appending('killed.jsonl'), 'killed.jsonl'],
    ['CSV', { type: 'csv', config: { path: 'killed.csv', append: true } }, 'killed.csv'],
  ] as const)(
    'loses no record of %s and leaves no torn line once it ran again',
    async (title, sink, output) => {
      const name = `kill-${title.replaceAll(' ', '-')}`;
      incremental(name, 'kill', sink);
      const child = spawn(process.execPath, [LAUNCHER, 'run', `${name}.json`, '--quiet'], {
        cwd: folder.path,
        stdio: 'ignore',
      });
      const closed = once(child, 'close');
      await bookmarkIn(name, closed);
      child.kill('SIGKILL');
      await closed;
      await written(name);
      const ids = output.endsWith('.csv')
        ? idsOfCsv(folder.text(output))
        : (linesOf(folder.text(output)) as { id: number }[]).map(({ id }) => id);
      expect(new Set(ids)).toEqual(
        new Set(Array.from({ length: FILES * RECORDS_A_FILE }, (_, id) => id)),
      );
    },
  );
});

/** Waits for the first bookmark: something was written, and most of it is still to come. */
async function bookmarkIn(name: string, closed: Promise<unknown>): Promise<void> {
  const ended = closed.then(() => 'ended' as const);
  const watcher = watch(folder.path, { recursive: true });
  try {
    while (!existsSync(join(folder.path, `${name}.state`, 'resume%3A%3Arow-0.json'))) {
      if ((await Promise.race([once(watcher, 'change'), ended])) === 'ended') return;
    }
  } finally {
    watcher.close();
  }
}

function idsOfCsv(text: string): number[] {
  const lines = text.split('\n');
  if (lines.pop() !== '' || lines[0] !== 'id,pad') throw new Error('the file is torn');
  const cells = lines.slice(1).map((line) => /^(\d+),x{60}$/.exec(line));
  return cells.map((cell) => Number(cell?.[1]));
}
