/** Schedules in a SQL table: always read and written whole. */
import { parseJson } from '../../lib/text/json.ts';
import type { ScheduleStore, StoredSchedule } from '../schedules.ts';
import { text, toJson } from './rows.ts';
import type { Row, SqlDialect, SqlScript, SqlStatement, SqlStore } from './sql-store.ts';

const TABLE = 'svc_serve_schedules';
const SELECT = `SELECT state FROM ${TABLE} WHERE name = ?`;
const PUT = `INSERT INTO ${TABLE} (name, state) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET state = excluded.state`;

export class SqlSchedules implements ScheduleStore {
  readonly #store: SqlStore;

  constructor(store: SqlStore) {
    this.#store = store;
  }

  async listSchedules(): Promise<readonly StoredSchedule[]> {
    const rows = await this.#store.read(`SELECT state FROM ${TABLE} ORDER BY name`, []);
    return rows.map(scheduleOf);
  }

  async getSchedule(name: string): Promise<StoredSchedule | undefined> {
    const [row] = await this.#store.read(SELECT, [name]);
    return row === undefined ? undefined : scheduleOf(row);
  }

  async putSchedule(schedule: StoredSchedule): Promise<void> {
    const { dialect } = this.#store;
    await this.#store.change(function* (): SqlScript<void> {
      yield [...alone(dialect, schedule), put(schedule)];
    });
  }

  putProgress(schedule: StoredSchedule): Promise<StoredSchedule['paused']> {
    const { dialect } = this.#store;
    return this.#store.change(function* (): SqlScript<StoredSchedule['paused']> {
      yield [...alone(dialect, schedule)];
      const [found] = yield [{ sql: SELECT, values: [schedule.name], returns: true }];
      const [row] = found?.rows ?? [];
      const { paused } = row === undefined ? schedule : scheduleOf(row);
      yield [put({ ...schedule, paused })];
      return paused;
    });
  }

  async removeSchedule(name: string): Promise<void> {
    await this.#store.write([{ sql: `DELETE FROM ${TABLE} WHERE name = ?`, values: [name] }]);
  }
}

/** Nobody else writes it until the end of the transaction. */
function alone(dialect: SqlDialect, { name }: StoredSchedule): readonly SqlStatement[] {
  return dialect.lockNames([`schedule ${name}`], 'alone');
}

function put(schedule: StoredSchedule): SqlStatement {
  return { sql: PUT, values: [schedule.name, toJson(schedule)] };
}

/** Was written by `put`. */
function scheduleOf(row: Row): StoredSchedule {
  return parseJson(text(row['state'])) as unknown as StoredSchedule;
}
