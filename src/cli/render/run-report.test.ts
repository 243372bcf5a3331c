import { describe, expect, it } from 'vitest';
import { testWorld } from '../../../test/support/cli.ts';
import { Redactor } from '../../lib/redact.ts';
import type { InvocationOutcome, NodeOutcome, RunOutcome } from '../../wire/outcome.ts';
import { Terminal } from './render.ts';
import { remarksOn, runDocument, summarizeRun } from './run-report.ts';

function graph(...deadLetters: readonly (number | undefined)[]): RunOutcome {
  const nodes = deadLetters.map((dead, index): NodeOutcome => ({
    id: `n${index}`,
    kind: 'transform',
    status: 'completed',
    records_in: 5,
    filtered: 0,
    expanded: 0,
    records_out: 5 - (dead ?? 0),
    ...(dead === undefined ? {} : { dead_lettered: dead }),
    error: null,
  }));
  const time = '2026-01-31T00:00:00.000Z';
  return {
    pipeline: 'p',
    status: 'completed',
    started_at: time,
    finished_at: time,
    records_written: 1,
    invocations: [],
    nodes,
    error: null,
  };
}

function noteOf(outcome: RunOutcome): string {
  const world = testWorld();
  const { stdout, stderr, variables } = world;
  const terminal = new Terminal({ stdout, stderr, variables, redactor: new Redactor() });
  summarizeRun(terminal, outcome, { dryRun: false });
  return world.err();
}

describe('the receipt of a graph', () => {
  it('has a column for dead letters of nodes where there are some', () => {
    const lines = noteOf(graph(2, undefined)).split('\n');
    expect(lines[1]).toMatch(/in +filtered +expanded +dead letters +out$/);
    expect(lines[2]).toMatch(/n0 .* 5 +0 +0 +2 +3$/);
    expect(lines[3]).toMatch(/n1 .* 5 +0 +0 +0 +5$/);
    expect(noteOf(graph(undefined))).not.toContain('dead letters');
  });

  it('counts them in its totals', () => {
    const report = runDocument(graph(2, undefined, 3), { dryRun: false });
    expect(report).toMatchObject({ totals: { dlq_count: 5 } });
    expect(report['nodes']).toMatchObject([{ dead_lettered: 2 }, {}, { dead_lettered: 3 }]);
  });
});

describe('the receipt of a row that did not complete', () => {
  const files = ['a', 'b', 'c', 'd'].map((name) => ({
    path: `/out/${name}.csv`,
    before: 'nothing' as const,
  }));
  const remarks = (
    status: InvocationOutcome['status'],
    written: readonly { path: string; before: 'nothing' | 'kept' }[],
  ): string[] =>
    remarksOn({ status, outputs: { dataset_uri: 'f', files: written } } as InvocationOutcome);

  it('names the files that hold a part', () => {
    expect(remarks('failed', files.slice(0, 1))).toEqual([
      '/out/a.csv holds what was written before it ended',
    ]);
    expect(remarks('cancelled', files)).toEqual([
      '/out/a.csv, /out/b.csv, /out/c.csv and 1 more hold what was written before it ended',
    ]);
  });

  it('says nothing of files that are whole, or were continued', () => {
    expect(remarks('completed', files)).toEqual([]);
    expect(remarks('failed', [{ path: '/out/a.csv', before: 'kept' }])).toEqual([]);
  });
});
