import { mkdtempSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { removeLeftovers, temporaryPath } from './temporary-path.ts';

/** No process has this id: it is above the highest that Linux gives. */
const DEAD_PID = '99999999';

let folder: string;
beforeEach(() => {
  vi.useFakeTimers();
  folder = mkdtempSync(join(tmpdir(), 'temporary-path-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

/** What a killed process has left of `name`. */
function leftover(name: string): string {
  const path = temporaryPath(join(folder, name)).replace(`-${process.pid}-`, `-${DEAD_PID}-`);
  writeFileSync(path, 'half');
  return path;
}

function removeLeftoversOf(name: string): Promise<void> {
  return removeLeftovers(folder, (found) => found === name);
}

it('removes what a killed process has left of a file, and nothing else', async () => {
  const left = leftover('orders.csv');
  const ofAnother = leftover('others.csv');
  const ours = temporaryPath(join(folder, 'orders.csv'));
  writeFileSync(ours, 'half');
  await removeLeftoversOf('orders.csv');
  expect([left, ofAnother, ours].map((path) => existsSync(path))).toEqual([false, true, true]);
});

it('lists a folder of few files every time', async () => {
  await removeLeftoversOf('orders.csv');
  const left = leftover('orders.csv');
  await removeLeftoversOf('orders.csv');
  expect(existsSync(left)).toBe(false);
});

it('lists a folder of many files the less often the more there are', async () => {
  for (let file = 0; file < 2000; file++) writeFileSync(join(folder, `${file}.csv`), '');
  const first = leftover('orders.csv');
  await removeLeftoversOf('orders.csv');
  expect(existsSync(first)).toBe(false);

  const second = leftover('orders.csv');
  await removeLeftoversOf('orders.csv');
  expect(existsSync(second)).toBe(true);
  vi.advanceTimersByTime(250);
  await removeLeftoversOf('orders.csv');
  expect(existsSync(second)).toBe(false);
});
