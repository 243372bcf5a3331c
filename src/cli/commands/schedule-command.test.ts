import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { eventClock } from '../../../test/fakes/event-clock.ts';
import { parts } from '../../parts.ts';
import { runCli } from '../framework/run-cli.ts';
import { testWiring, testWorld, type TestWorld } from '../../../test/support/cli.ts';
import { eventually } from '../../../test/support/eventually.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-schedule-'));
  write('in.csv', 'id\n1\n2\n');
});
afterEach(() => rmSync(cwd, { recursive: true }));

function write(name: string, text: string): void {
  writeFileSync(path.join(cwd, name), text);
}

function document(block: object | undefined, input = 'in.csv', more: object = {}): void {
  const source = { type: 'csv', config: { path: input } };
  const sink = { type: 'jsonl', config: { path: 'out-${now.strftime.%H%M}.jsonl' } };
  write(
    'nightly.json',
    JSON.stringify({
      version: 1,
      name: 'nightly',
      ...(block === undefined ? {} : { schedule: block }),
      pipeline: { source, sink },
      ...more,
    }),
  );
}

function schedule(...more: readonly string[]) {
  return scheduleIn({}, ...more);
}

function scheduleIn(over: Partial<TestWorld>, ...more: readonly string[]) {
  const made = testWorld({ cwd });
  const clock = eventClock('2026-01-31T08:00:00Z');
  const world = { ...made, clock, ...over };
  const code = runCli(['schedule', 'nightly.json', ...more], testWiring(parts), world);
  const told = (text: string): Promise<void> =>
    eventually(() => expect(world.err()).toContain(text));
  return { world, clock, code, told };
}

const MINUTE = 60_000;

describe('headgate schedule', () => {
  test('runs at its ticks until it is told to end', async () => {
    document({ cron: '*/5 * * * *', timezone: 'Asia/Tokyo' });
    const { world, clock, code, told } = schedule();
    await told(
      'schedule started pipeline=nightly cron="*/5 * * * *" timezone=Asia/Tokyo overlap_policy=skip next=2026-01-31T17:05:00+09:00',
    );
    await clock.pass(5 * MINUTE);
    await told('run completed tick=2026-01-31T17:05:00+09:00 records_written=2');
    // What goes on inside is for those who ask for it.
    expect(world.err()).not.toContain('headgate::engine');
    world.send('SIGTERM', 0);
    expect(await code).toBe(0);
    expect(readFileSync(path.join(cwd, 'out-1705.jsonl'), 'utf8').split('\n')).toHaveLength(3);
    expect(world.err()).toContain(
      'SIGTERM: starting no further run; one under way has 30 s to finish',
    );
    expect(world.err().trimEnd().endsWith('ended: stopped')).toBe(true);
  });

  test('reads the document again at SIGHUP; one that cannot be used changes nothing', async () => {
    document({ cron: '0 3 * * *' });
    const { world, clock, code, told } = schedule();
    await told('schedule started');
    document({ cron: 'often' });
    world.hangUp();
    await told('the document cannot be reloaded; the previous one stays in use');
    expect(world.err()).toContain('schedule.cron');
    document({ cron: '* * * * *', max_runs: 1 });
    world.hangUp();
    await told('the document was reloaded cron="* * * * *"');
    await clock.pass(MINUTE);
    expect(await code).toBe(0);
    expect(existsSync(path.join(cwd, 'out-0801.jsonl'))).toBe(true);
    expect(world.err()).toContain('ended: 1 run succeeded (`max_runs`)');
  });

  test('ends with an error when its failures are too many', async () => {
    document({ cron: '* * * * *', max_consecutive_failures: 1 }, 'gone.csv');
    const { world, clock, code, told } = schedule();
    await told('schedule started');
    await clock.pass(MINUTE);
    expect(await code).toBe(1);
    expect(world.err()).toContain('error: 1 run failed in a row (`max_consecutive_failures`)');
  });

  test('serves its metrics where the document says, and logs as much as it says', async () => {
    const observability = { prometheus: { listen: '127.0.0.1:0' }, tracing: { level: 'debug' } };
    document({ cron: '* * * * *' }, 'in.csv', { observability });
    const { world, clock, code, told } = schedule();
    await told('schedule started');
    const address = `http://127.0.0.1:${/port=(\d+)/.exec(world.err())?.[1]}/metrics`;
    await clock.pass(MINUTE);
    await told('run completed');
    expect(world.err()).toContain('headgate::engine: row completed');
    const text = await (await fetch(address)).text();
    expect(text).toContain('svc_schedule_runs_total{pipeline="nightly",outcome="ok"} 1');
    expect(text).toContain('svc_sink_records_total{');
    world.send('SIGTERM', 0);
    expect(await code).toBe(0);
    await expect(fetch(address)).rejects.toThrow();
  });

  test('does not let runs overlap because a receiver of notifications does not answer', async () => {
    const channel = { type: 'webhook', config: { url: 'http://hook.test/in' } };
    document({ cron: '* * * * *', overlap_policy: 'forbid' }, 'in.csv', {
      notifications: [{ name: 'hook', channel }],
    });
    const asked = vi.fn<typeof fetch>(() => new Promise(() => {}));
    const { world, clock, code, told } = scheduleIn({ fetch: asked });
    await told('schedule started');
    for (const minute of ['08:01', '08:02', '08:03']) {
      await clock.pass(MINUTE);
      await told(`run completed tick=2026-01-31T${minute}:00+00:00`);
    }
    await eventually(() => expect(asked).toHaveBeenCalledOnce());
    world.send('SIGTERM', 0);
    await told('ended: stopped');
    await clock.pass(10_000);
    expect(await code).toBe(0);
  });

  test('runs just once, now, when asked', async () => {
    document({ cron: '0 3 * * *', timezone: 'Asia/Tokyo' });
    const { world, code } = schedule('--once');
    expect(await code).toBe(0);
    expect(existsSync(path.join(cwd, 'out-1700.jsonl'))).toBe(true);
    expect(world.err()).toContain('nightly completed');
    document({ cron: '0 3 * * *' }, 'gone.csv');
    expect(await schedule('--once').code).toBe(1);
  });

  test('needs a schedule, and one that can be read', async () => {
    document(undefined);
    const without = schedule();
    expect(await without.code).toBe(1);
    expect(without.world.err()).toContain('the document has no `schedule`');
    document({ cron: '0 0 30 2 *' });
    const never = schedule();
    expect(await never.code).toBe(1);
    expect(never.world.err()).toContain('`0 0 30 2 *` never comes true');
  });
});
