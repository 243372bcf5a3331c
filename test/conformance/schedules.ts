/** The contract of a store of schedules, as a suite every implementation is held to. */
import { describe, expect, it } from 'vitest';
import type { ScheduleStore, StoredSchedule } from '../../src/history/schedules.ts';

export function aSchedule(name: string, over: Partial<StoredSchedule> = {}): StoredSchedule {
  return {
    name,
    cron: '* * * * * UTC',
    handled: '2026-08-01T00:00:00.000Z',
    starting: null,
    waiting: null,
    successes: 0,
    failures: 0,
    paused: null,
    ended: null,
    last_run: null,
    ...over,
  };
}

export function describeSchedules(name: string, open: () => Promise<ScheduleStore>): void {
  describe(`schedules in ${name}`, () => {
    it('gives back what was stored last, by name', async () => {
      const store = await open();
      expect(await store.listSchedules()).toEqual([]);
      const full = aSchedule('b', {
        starting: '2026-08-01T00:01:00.000Z',
        waiting: '2026-08-01T00:02:00.000Z',
        successes: 3,
        failures: 1,
        paused: { at: '2026-08-01T00:00:30.000Z', by: 'ann' },
        ended: { ok: false, reason: 'it failed' },
        last_run: {
          run_id: 'r',
          tick: '2026-08-01T00:00:00.000Z',
          status: 'failed',
          finished_at: '2026-08-01T00:00:09.000Z',
          error: 'no such file',
        },
      });
      await store.putSchedule(aSchedule('b'));
      await store.putSchedule(aSchedule('a'));
      await store.putSchedule(full);
      expect(await store.listSchedules()).toEqual([aSchedule('a'), full]);
    });

    it('gives one by its name', async () => {
      const store = await open();
      await store.putSchedule(aSchedule('a', { successes: 2 }));
      expect(await store.getSchedule('a')).toEqual(aSchedule('a', { successes: 2 }));
      expect(await store.getSchedule('b')).toBeUndefined();
    });

    it('keeps a pause from whoever tells how far it is, and says so', async () => {
      const store = await open();
      const paused = { at: '2026-08-01T00:00:30.000Z', by: 'ann' };
      expect(await store.putProgress(aSchedule('a'))).toBeNull();
      await store.putSchedule(aSchedule('a', { paused }));
      expect(await store.putProgress(aSchedule('a', { successes: 1 }))).toEqual(paused);
      expect(await store.listSchedules()).toEqual([aSchedule('a', { successes: 1, paused })]);
      await store.putSchedule(aSchedule('a', { successes: 1 }));
      expect(await store.putProgress(aSchedule('a', { paused, successes: 2 }))).toBeNull();
      expect(await store.getSchedule('a')).toEqual(aSchedule('a', { successes: 2 }));
    });

    it('forgets one without the others', async () => {
      const store = await open();
      await Promise.all([store.putSchedule(aSchedule('a')), store.putSchedule(aSchedule('b'))]);
      await store.removeSchedule('a');
      await store.removeSchedule('nobody');
      expect(await store.listSchedules()).toEqual([aSchedule('b')]);
    });

    it('takes writes in the order in which they were asked for', async () => {
      const store = await open();
      await Promise.all(
        [1, 2, 3].map((successes) => store.putSchedule(aSchedule('a', { successes }))),
      );
      expect(await store.listSchedules()).toEqual([aSchedule('a', { successes: 3 })]);
    });
  });
}
