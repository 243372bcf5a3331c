import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import type { History, LogStore, RunLogLine } from '../../history/history.ts';
import { MemoryHistory } from '../../history/memory/memory-history.ts';
import { openHistory } from '../../history/open.ts';
import type { LogLine } from '../../lib/log.ts';
import { createRegistry } from '../../lib/metrics/prometheus.ts';
import { LogWriter } from './log-writer.ts';
import { RUN_METRICS } from '../service/metrics.ts';
import { RunLog, RunLogs } from './run-log.ts';
import type { LogEvent } from '../service/runs.ts';
import { FakeClock, refusalOf, rest, testService } from '../../../test/support/runs.ts';
import { eventually } from '../../../test/support/eventually.ts';

const line = (text: string | number): LogLine => ({
  ts: '2026-08-01T12:00:00.000Z',
  level: 'INFO',
  line: `INFO ${text}`,
});
const lines = (from: number, to: number): LogLine[] =>
  Array.from({ length: to - from }, (_, n) => line(from + n));
const never = new AbortController().signal;

async function numbered(events: AsyncIterable<LogEvent>): Promise<LogEvent[]> {
  const seen: LogEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** Without their numbers. */
async function all(events: AsyncIterable<LogEvent>): Promise<object[]> {
  const seen: object[] = [];
  for await (const event of events) {
    const { seq: _seq, ...unnumbered } = { seq: undefined, ...event };
    seen.push(unnumbered);
  }
  return seen;
}

describe('live log', () => {
  it('replays what there is, then follows to the end', async () => {
    const log = new RunLog();
    log.push([line('a')]);
    const seen = all(log.follow(never));
    await rest();
    log.push([line('b'), line('c')]);
    await rest();
    log.end();
    expect(await seen).toEqual([
      { type: 'log', line: 'INFO a' },
      { type: 'log', line: 'INFO b' },
      { type: 'log', line: 'INFO c' },
      { type: 'end' },
    ]);
  });

  it('goes on after the line that a reader has seen, and says when there is nothing more', async () => {
    const log = new RunLog(3);
    log.push(lines(0, 2));
    const seen = numbered(log.follow(never, 0));
    log.push(lines(2, 3));
    expect(log.isOver(3)).toBe(false);
    log.end();
    expect(await seen).toEqual([
      { type: 'log', seq: 1, line: 'INFO 1' },
      { type: 'log', seq: 2, line: 'INFO 2' },
      { type: 'end', seq: 3 },
    ]);
    expect([log.isOver(2), log.isOver(3)]).toEqual([false, true]);
    expect(await numbered(log.follow(never, 2))).toEqual([{ type: 'end', seq: 3 }]);
    log.push(lines(3, 6));
    expect((await log.follow(never, 0).next()).value).toEqual({ type: 'truncated', dropped: 2 });
  });

  it('keeps the last lines only, and tells nobody who came later about the others', async () => {
    const log = new RunLog(3);
    log.push(lines(0, 5));
    log.end();
    expect(await all(log.follow(never))).toEqual([
      ...lines(2, 5).map(({ line: text }) => ({ type: 'log', line: text })),
      { type: 'end' },
    ]);
  });

  it('tells a reader that fell behind how many lines it missed', async () => {
    const log = new RunLog(3);
    log.push(lines(0, 2));
    const reader = log.follow(never);
    expect((await reader.next()).value).toEqual({ type: 'log', seq: 0, line: 'INFO 0' });
    log.push(lines(2, 8));
    log.end();
    expect((await reader.next()).value).toEqual({ type: 'truncated', dropped: 4 });
    expect(await all(reader)).toEqual([
      ...lines(5, 8).map(({ line: text }) => ({ type: 'log', line: text })),
      { type: 'end' },
    ]);
  });

  it('serves several readers, and lets one go when its signal fires', async () => {
    const log = new RunLog();
    const leaving = new AbortController();
    const [left, stayed] = [all(log.follow(leaving.signal)), all(log.follow(never))];
    await rest();
    leaving.abort();
    expect(await left).toEqual([]);
    log.push([line('a')]);
    log.end();
    expect(await stayed).toHaveLength(2);
  });

  it('stays for a minute after the end of its run', async () => {
    const clock = new FakeClock();
    const logs = new RunLogs(clock);
    logs.open('a').push([line('a')]);
    logs.end('a');
    await clock.advance(60_000);
    expect(
      await all(logs.get('a')?.follow(never) ?? new RunLog().follow(AbortSignal.abort())),
    ).toHaveLength(2);
    await clock.advance(1);
    expect(logs.get('a')).toBeUndefined();
  });

  it('goes earlier where too many runs have ended, or their logs are too long', () => {
    const logs = new RunLogs(new FakeClock());
    logs.open('running').push([line('a')]);
    for (let n = 0; n < 5000; n += 1) {
      logs.open(`short-${n}`).push([line('a')]);
      logs.end(`short-${n}`);
    }
    expect([logs.get('short-903'), logs.get('short-904')?.size]).toEqual([undefined, 1]);
    for (let n = 0; n < 10; n += 1) {
      logs.open(`long-${n}`).push(lines(0, 10_001));
      logs.end(`long-${n}`);
    }
    expect(logs.get('short-4999')).toBeUndefined();
    expect([logs.get('long-0')?.size, logs.get('running')?.size]).toEqual([10_000, 1]);
  });

  it('reaches a reader who came while its run waited', async () => {
    const service = await testService({ limits: { maxConcurrent: 1 } });
    await service.submit();
    const waiting = await service.submit();
    await rest();
    const events: unknown[] = [];
    const log = await service.runs.followLog(waiting, new AbortController().signal);
    const read = (async () => {
      for await (const event of log) events.push(event);
    })();
    service.executor.last.finish();
    await rest();
    service.executor.last.hear({
      kind: 'log',
      lines: [{ ts: '2026-01-01T00:00:00.000Z', level: 'INFO', line: 'it moves' }],
    });
    service.executor.last.finish();
    await read;
    expect(events.slice(-2)).toMatchObject([{ type: 'log', line: 'it moves' }, { type: 'end' }]);
  });

  it('of a run that never had one here is not made by its end', () => {
    const logs = new RunLogs(new FakeClock());
    logs.end('a');
    expect(logs.get('a')).toBeUndefined();
  });
});

describe('stored log lines', () => {
  let clock = new FakeClock();
  beforeEach(() => (clock = new FakeClock()));

  function writer(
    store: Partial<LogStore>,
    maxLinesPerRun = 100,
  ): { writer: LogWriter; dropped: () => Promise<string[]> } {
    const registry = createRegistry(RUN_METRICS);
    const full: LogStore = {
      appendLog: async () => {},
      markLogTruncated: async () => {},
      readLog: async () => ({ lines: [], truncated: false }),
      ...store,
    };
    const env = testEnv({ metrics: registry.metrics, clock });
    const dropped = async (): Promise<string[]> =>
      (await registry.render())
        .split('\n')
        .filter((text) => text.startsWith('svc_serve_run_logs_dropped_total{'));
    return { writer: new LogWriter({ store: full, env, maxLinesPerRun }), dropped };
  }

  it('travel in batches of at most 256, numbered by run', async () => {
    const batches: (readonly RunLogLine[])[] = [];
    const { writer: made } = writer({ appendLog: async (batch) => void batches.push(batch) }, 1000);
    made.push('a', lines(0, 300));
    made.push('b', lines(0, 1));
    await made.flush();
    expect(batches.map((batch) => batch.length)).toEqual([256, 45]);
    expect(batches.flat().map(({ run_id, seq }) => `${run_id}${seq}`)).toEqual([
      ...Array.from({ length: 300 }, (_, n) => `a${n}`),
      'b0',
    ]);
  });

  it('wait a moment for more of them, or until somebody wants them stored', async () => {
    const batches: string[][] = [];
    const { writer: made } = writer({
      appendLog: async (batch) => void batches.push(batch.map(({ line: text }) => text)),
    });
    made.push('a', lines(0, 1));
    await rest();
    made.push('a', lines(1, 2));
    await clock.advance(49);
    expect(batches).toEqual([]);
    await clock.advance(1);
    expect(batches).toEqual([['INFO 0', 'INFO 1']]);
    made.push('a', lines(2, 3));
    await made.flush();
    await clock.advance(1000);
    expect(batches).toEqual([['INFO 0', 'INFO 1'], ['INFO 2']]);
  });

  it('are the first and the last of a run beyond its cap, and it is marked', async () => {
    const stored: RunLogLine[] = [];
    const marks: unknown[] = [];
    const { writer: made, dropped } = writer(
      {
        appendLog: async (batch) => void stored.push(...batch),
        markLogTruncated: async (run, after) => void marks.push([run, after.seq]),
      },
      5,
    );
    const shown = (): string[] => stored.map(({ seq, line: text }) => `${seq} ${text}`);
    made.push('a', lines(0, 5));
    await made.flush();
    expect(shown()).toEqual(['0 INFO 0', '1 INFO 1', '2 INFO 2']);
    made.push('a', lines(5, 9));
    await made.flush();
    expect(marks).toEqual([['a', 2]]);
    await made.flush('a');
    expect(shown().slice(3)).toEqual(['7 INFO 7', '8 INFO 8']);
    expect(marks).toEqual([
      ['a', 2],
      ['a', 8],
    ]);
    expect(await dropped()).toEqual(['svc_serve_run_logs_dropped_total{reason="per_run_cap"} 4']);
  });

  it('are all there at the end of a run that stays within its cap', async () => {
    const stored: RunLogLine[] = [];
    const marks: unknown[] = [];
    const { writer: made, dropped } = writer(
      {
        appendLog: async (batch) => void stored.push(...batch),
        markLogTruncated: async (run) => void marks.push(run),
      },
      4,
    );
    made.push('a', lines(0, 4));
    await made.flush('a');
    expect(stored.map(({ seq }) => seq)).toEqual([0, 1, 2, 3]);
    expect([marks, await dropped()]).toEqual([[], []]);
  });

  it('are let go when the store is too slow or fails, and counted', async () => {
    let fail = (): void => {};
    const { writer: made, dropped } = writer(
      {
        appendLog: () =>
          new Promise((_, reject) => {
            fail = () => reject(new Error('disk full'));
          }),
      },
      100_000,
    );
    made.push('a', lines(0, 20_000));
    await rest();
    fail();
    await rest();
    expect(await dropped()).toEqual([
      'svc_serve_run_logs_dropped_total{reason="queue_full"} 3616',
      'svc_serve_run_logs_dropped_total{reason="backend_error"} 256',
    ]);
  });
});

describe('logs of the run service', () => {
  let folder = '';
  let history: History;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-runs-'));
    history = await openHistory('sqlite:runs.db', { ...testEnv(), cwd: folder });
  });
  afterEach(async () => {
    await history.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('begin with the start of the run, end with its end, and can be read back as soon as the run has ended', async () => {
    const service = await testService({ history });
    const id = await service.submit();
    const following = all(await service.runs.followLog(id, never));
    await rest();
    service.executor.last.hear({ kind: 'log', lines: lines(0, 2) });
    service.executor.last.finish();
    expect(await following).toEqual([
      { type: 'log', line: 'INFO headgate::engine: pipeline run starting' },
      { type: 'log', line: 'INFO 0' },
      { type: 'log', line: 'INFO 1' },
      { type: 'end' },
    ]);
    expect(await service.runs.readLog(id, { after: undefined, limit: 2 })).toEqual({
      lines: [
        {
          seq: 0,
          ts: '2026-08-01T12:00:00.000Z',
          level: 'INFO',
          line: 'INFO headgate::engine: pipeline run starting',
        },
        { seq: 1, ...line(0) },
      ],
      truncated: false,
    });
    expect((await service.runs.readLog(id, { after: 1, limit: 10 })).lines).toEqual([
      { seq: 2, ...line(1) },
    ]);
    await service.runs.drain(1000);
  });

  it('show that the cap of the run was reached', async () => {
    const service = await testService({ history, limits: { maxLogLinesPerRun: 2 } });
    const id = await service.submit();
    await rest();
    service.executor.last.hear({ kind: 'log', lines: lines(0, 5) });
    service.executor.last.finish();
    await all(await service.runs.followLog(id, never));
    const stored = await service.runs.readLog(id, { after: undefined, limit: 10 });
    expect(stored.truncated).toBe(true);
    expect(stored.lines.map(({ line: text }) => text)).toEqual([
      'INFO headgate::engine: pipeline run starting',
      'INFO 4',
    ]);
    await service.runs.drain(1000);
  });

  it('are not stored with retention 0', async () => {
    const service = await testService({ history, limits: { logRetentionSecs: 0 } });
    const id = await service.submit();
    await rest();
    service.executor.last.finish();
    await rest();
    expect(await service.runs.readLog(id, { after: undefined, limit: 10 })).toEqual({
      lines: [],
      truncated: false,
    });
    expect(await history.readLog(id, { after: -1, limit: 10 })).toEqual({
      lines: [],
      truncated: false,
    });
    await service.runs.drain(1000);
  });

  it('are a single end for a known run without a live log, and unknown for an unknown run', async () => {
    const service = await testService({ history: new MemoryHistory() });
    const id = await service.submit();
    await rest();
    service.executor.last.finish();
    await service.clock.advance(61_000);
    expect(await all(await service.runs.followLog(id, never))).toEqual([{ type: 'end' }]);
    expect(await refusalOf(service.runs.followLog('unknown', never))).toMatchObject({
      code: 'not_found',
    });
    expect(
      await refusalOf(service.runs.readLog('unknown', { after: undefined, limit: 1 })),
    ).toMatchObject({ code: 'not_found' });
  });

  it('outlive their retention no longer than their run does', async () => {
    const service = await testService({ history, limits: { logRetentionSecs: 3600 } });
    const id = await service.submit();
    await rest();
    service.executor.last.finish();
    await all(await service.runs.followLog(id, never));
    const linesLeft = async (): Promise<number> =>
      (await service.runs.readLog(id, { after: undefined, limit: 10 })).lines.length;
    expect(await linesLeft()).toBe(1);
    // Retention looks every hour or so, counted from when it has ended looking.
    const later = (ms: number, gone: () => Promise<boolean>): Promise<void> =>
      eventually(async () => {
        await service.clock.jump(ms);
        expect(await gone()).toBe(true);
      });
    await later(3_600_000, async () => (await linesLeft()) === 0);
    expect((await service.record(id)).status).toBe('completed');
    // It is counted when the history has answered.
    await eventually(async () =>
      expect(await service.measured('svc_serve_run_logs_purged_total')).toEqual([
        'svc_serve_run_logs_purged_total 1',
      ]),
    );
    await later(604_800_000, async () => (await service.runs.list({ limit: 1 })).runs.length === 0);
    expect(await refusalOf(service.record(id))).toMatchObject({ code: 'not_found' });
    await service.runs.drain(1000);
  });
});
