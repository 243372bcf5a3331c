import type { TriggerMemory, TriggerStore } from '../triggers.ts';
import { text } from './rows.ts';
import type { SqlStore } from './sql-store.ts';

const TABLE = 'svc_serve_trigger_memories';
const CREATE = `INSERT INTO ${TABLE} (content, name, revision) VALUES (?, ?, 1) ON CONFLICT (name) DO NOTHING`;
const CHANGE = `UPDATE ${TABLE} SET content = ?, revision = revision + 1 WHERE name = ? AND revision = ?`;

export class SqlTriggers implements TriggerStore {
  readonly #store: SqlStore;

  constructor(store: SqlStore) {
    this.#store = store;
  }

  async getTriggerMemory(name: string): Promise<TriggerMemory | undefined> {
    const [row] = await this.#store.read(`SELECT revision, content FROM ${TABLE} WHERE name = ?`, [
      name,
    ]);
    if (row === undefined) return undefined;
    return { revision: Number(row['revision']), content: text(row['content']) };
  }

  async putTriggerMemory(name: string, { revision, content }: TriggerMemory): Promise<boolean> {
    const statement =
      revision === 0
        ? { sql: CREATE, values: [content, name] }
        : { sql: CHANGE, values: [content, name, revision] };
    const [changed] = await this.#store.write([statement]);
    return changed === 1;
  }
}
