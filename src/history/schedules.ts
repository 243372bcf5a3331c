/** What is known of schedules beyond their documents, as plain data. Times are RFC 3339, UTC. */

export interface StoredSchedule {
  readonly name: string;
  /** Its cron expression and time zone: what is known of ticks is good for these only. */
  readonly cron: string;
  /** Ticks up to this moment are done with: run, skipped, or among those below. */
  readonly handled: string | null;
  /** The tick of a run that is not stored yet. */
  readonly starting: string | null;
  /** The tick that waits for the active run. */
  readonly waiting: string | null;
  readonly successes: number;
  readonly failures: number;
  readonly paused: { readonly at: string; readonly by: string } | null;
  /** Why it starts nothing any more. */
  readonly ended: { readonly ok: boolean; readonly reason: string } | null;
  readonly last_run: ScheduledRunRecord | null;
}

/** The last run that it started. */
export interface ScheduledRunRecord {
  /** Null when it could not be submitted. */
  readonly run_id: string | null;
  readonly tick: string;
  readonly status: 'queued' | 'completed' | 'failed' | 'cancelled';
  readonly finished_at: string | null;
  readonly error: string | null;
  /** Somebody asked for it: it does not count. */
  readonly is_manual?: true;
}

export interface ScheduleStore {
  /** By name. */
  listSchedules(): Promise<readonly StoredSchedule[]>;
  getSchedule(name: string): Promise<StoredSchedule | undefined>;
  /** Inserts or replaces. */
  putSchedule(schedule: StoredSchedule): Promise<void>;
  /**
   * The same by a server that was not asked to pause or to resume it, and may not have heard that
   * another one was: `paused` of a schedule that is known stays. Gives what that is.
   */
  putProgress(schedule: StoredSchedule): Promise<StoredSchedule['paused']>;
  removeSchedule(name: string): Promise<void>;
}
