import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { aRun } from '../../../test/conformance/history.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import type { Instance } from '../../history/history.ts';
import { MemoryHistory } from '../../history/memory/memory-history.ts';
import { mayBeAlive, thisProcess } from './instance.ts';
import { recoverOrphans } from './recovery.ts';
import { FakeClock, testService } from '../../../test/support/runs.ts';

const clock = new FakeClock();
const LATER = '2026-08-01T13:00:00.000Z';

function instance(id: string, over: Partial<Instance> = {}): Instance {
  const seen = clock.now().toISOString();
  return {
    instance_id: id,
    ...thisProcess(),
    listen: null,
    started_at: seen,
    seen_at: seen,
    max_concurrent: 1,
    in_flight: 1,
    ...over,
  };
}

async function endedProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' });
  await new Promise((resolve) => child.once('exit', resolve));
  return child.pid ?? 0;
}

describe('whether a process may be alive', () => {
  it('is certain about this one and about one that has ended', async () => {
    expect(mayBeAlive(thisProcess())).toBe(true);
    expect(mayBeAlive({ pid: await endedProcess(), pid_started: null })).toBe(false);
  });

  it.runIf(thisProcess().pid_started !== null)(
    'sees through a pid that was given to another process',
    () => {
      expect(mayBeAlive({ pid: process.pid, pid_started: '1' })).toBe(false);
    },
  );

  it('assumes life where it cannot know', () => {
    expect(mayBeAlive({ pid: process.pid, pid_started: null })).toBe(true);
  });
});

describe('recovering orphans', () => {
  async function recovered(
    other: Partial<Instance>,
    isAlive?: () => boolean,
  ): Promise<{ history: MemoryHistory; failed: readonly string[] }> {
    const history = new MemoryHistory();
    await history.putInstance(instance('self'));
    await history.putInstance(instance('other', other));
    await history.admit(aRun('a', { owner: 'other', lease_until: LATER }), {});
    await history.admit(aRun('mine', { owner: 'self', lease_until: LATER }), {});
    const options = { env: testEnv({ clock }), self: instance('self') };
    const failed = await recoverOrphans(
      history,
      isAlive === undefined ? options : { ...options, isAlive },
    );
    return { history, failed };
  }

  it('fails the runs of a dead server of this host at once, long before their lease ends', async () => {
    const pid = await endedProcess();
    const { history, failed } = await recovered({ pid });
    expect(failed).toEqual(['a']);
    const error = `the run was interrupted: the server process that ran it (pid ${pid}) is gone, so its lease ended before it expired`;
    expect(await history.getRun('a')).toMatchObject({ status: 'failed', error });
    expect((await history.getRun('mine'))?.status).toBe('queued');
    expect((await history.listInstances()).map((one) => one.instance_id)).toEqual(['self']);
  });

  it('leaves a living server of this host alone', async () => {
    expect((await recovered({}, () => true)).failed).toEqual([]);
  });

  it('leaves a server of another host to its lease, whatever its pid', async () => {
    expect((await recovered({ host: 'elsewhere' }, () => false)).failed).toEqual([]);
  });

  it('happens when a server starts on the history of one that was killed', async () => {
    const history = new MemoryHistory();
    await history.putInstance(instance('killed', { pid: await endedProcess() }));
    await history.admit(aRun('a', { owner: 'killed', status: 'running', lease_until: LATER }), {});
    const service = await testService({ history });
    expect(await service.record('a')).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('lease'),
    });
  });
});
