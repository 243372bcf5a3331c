import type { ScheduleStore, StoredSchedule } from '../schedules.ts';

/** Schedules that end with the process. */
export class MemorySchedules implements ScheduleStore {
  readonly #schedules = new Map<string, StoredSchedule>();

  async listSchedules(): Promise<readonly StoredSchedule[]> {
    return [...this.#schedules.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async getSchedule(name: string): Promise<StoredSchedule | undefined> {
    return this.#schedules.get(name);
  }

  async putProgress(schedule: StoredSchedule): Promise<StoredSchedule['paused']> {
    const { paused } = this.#schedules.get(schedule.name) ?? schedule;
    this.#schedules.set(schedule.name, { ...schedule, paused });
    return paused;
  }

  async putSchedule(schedule: StoredSchedule): Promise<void> {
    this.#schedules.set(schedule.name, schedule);
  }

  async removeSchedule(name: string): Promise<void> {
    this.#schedules.delete(name);
  }
}
