/** Schedules in a SQL table: always read and written whole. */
import { parseJson } from '../../lib/text/json.ts';
import type { ScheduleStore, StoredSchedule } from '../schedules.ts';
import { text, toJson } from './rows.ts';
import type { SqlStore } from './sql-store.ts';

const TABLE = 'svc_serve_schedules';
const PUT = `INSERT INTO ${TABLE} (name, state) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET state = excluded.state`;

export class SqlSchedules implements ScheduleStore {
  readonly #store: SqlStore;

  constructor(store: SqlStore) {
    this.#store = store;
  }

  async listSchedules(): Promise<readonly StoredSchedule[]> {
    const rows = await this.#store.read(`SELECT state FROM ${TABLE} ORDER BY name`, []);
    // Written by `putSchedule`.
    return rows.map((row) => parseJson(text(row['state'])) as unknown as StoredSchedule);
  }

  async putSchedule(schedule: StoredSchedule): Promise<void> {
    await this.#store.write([{ sql: PUT, values: [schedule.name, toJson(schedule)] }]);
  }

  async removeSchedule(name: string): Promise<void> {
    await this.#store.write([{ sql: `DELETE FROM ${TABLE} WHERE name = ?`, values: [name] }]);
  }
}
