import { expect, it } from 'vitest';
import { Redactor } from '../../lib/redact.ts';
import type { Progress } from '../../wire/outcome.ts';
import { progressLine } from './progress-line.ts';
import { Terminal } from './render.ts';
import { testWorld } from '../../../test/support/cli.ts';

function progress(records: number, more: Partial<Progress> = {}): Progress {
  return {
    records_read: records,
    records_written: records,
    records_dead_lettered: 0,
    bytes_read: records * 1024,
    row_id: 'orders',
    invocations_done: 0,
    ...more,
  };
}

function lines(text: string): string[] {
  return text.split('\r\u001B[2K').slice(1);
}

function lineOn(
  tty: boolean,
  rows = 1,
): { show: (progress: Progress) => void; shown: () => string[]; advance: (ms: number) => void } {
  const world = testWorld({ tty });
  const terminal = new Terminal({
    stdout: world.stdout,
    stderr: world.stderr,
    variables: {},
    redactor: new Redactor(),
  });
  return {
    show: progressLine(terminal, world.clock, rows),
    shown: () => lines(world.err()),
    advance: (ms) => world.advance(ms),
  };
}

it('shows counts and rates, at most ten times a second', () => {
  const { show, shown, advance } = lineOn(true);
  advance(500);
  show(progress(1000));
  show(progress(1001));
  advance(99);
  show(progress(1002));
  expect(shown()).toEqual([
    'orders  ·  1,000 read  ·  1,000 written  ·  2,000 records/s  ·  2.0 MiB/s',
  ]);
  advance(1);
  show(progress(1200));
  expect(shown()).toHaveLength(2);
});

it('shows the rate of the last second, not of the whole run', () => {
  const { show, shown, advance } = lineOn(true);
  advance(1000);
  show(progress(5000));
  advance(1000);
  show(progress(5100));
  expect(shown().at(-1)).toContain('100 records/s');
});

it('names dead letters, and how many rows are done', () => {
  const { show, shown } = lineOn(true, 3);
  show(progress(10, { records_dead_lettered: 1, invocations_done: 2 }));
  expect(shown()[0]).toMatch(/1 dead letter {2}· {2}2 done of 3 rows$/);
});

it('gives a pipe nothing', () => {
  const { show, shown } = lineOn(false);
  show(progress(10));
  expect(shown()).toEqual([]);
});
