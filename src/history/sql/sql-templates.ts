/** Templates in SQL tables: a row for each template, and one for each of its versions. */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { parseJson, stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import type {
  ChosenVersion,
  TemplateChange,
  TemplateListing,
  TemplateQuery,
  TemplateState,
  TemplateStore,
  TemplateVersion,
} from '../templates.ts';
import { text } from './rows.ts';
import type { Row, SqlReadOptions, SqlStatement, SqlStore } from './sql-store.ts';

const TABLE = 'svc_serve_templates';
const VERSIONS = 'svc_serve_template_versions';

const COLUMNS = [
  'id',
  'version',
  'kind',
  'name',
  'description',
  'body',
  'format',
  'params',
  'created_at',
  'created_by',
  'is_scheduled',
] as const;

/** Templates that are run again and again: what was read of them last. */
const MAX_KNOWN = 500;
const MAX_KNOWN_CHARS = 8 * 1024 * 1024;
const AT_ONCE: SqlReadOptions = { isSeenAtOnce: true };

interface KnownState {
  /** Every change of a template has its own, one that deletes it and registers it anew too. */
  readonly changeId: string;
  readonly state: TemplateState;
}

/** The statements behind a change do nothing unless the change was made. */
const IF_CHANGED = `EXISTS (SELECT 1 FROM ${TABLE} WHERE id = ? AND change_id = ?)`;
const CREATE = `INSERT INTO ${TABLE} (id, revision, change_id, registered_at, newest, state) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`;
const CHANGE = `UPDATE ${TABLE} SET revision = ?, change_id = ?, registered_at = ?, newest = ?, state = ? WHERE id = ? AND revision = ?`;
const ADD_VERSION = `INSERT INTO ${VERSIONS} (${COLUMNS.join(', ')}) SELECT ${COLUMNS.map(() => '?').join(', ')} WHERE ${IF_CHANGED}`;
const LIST = `SELECT t.state, v.${COLUMNS.filter((column) => column !== 'body').join(', v.')}
  FROM ${TABLE} AS t JOIN ${VERSIONS} AS v ON v.id = t.id AND v.version = t.newest`;
const IN_ORDER = 'ORDER BY t.registered_at DESC, t.id';
const BEHIND = '(t.registered_at < ? OR (t.registered_at = ? AND t.id > ?))';

export class SqlTemplates implements TemplateStore {
  readonly #store: SqlStore;
  /** Looks that have not begun, by id. */
  readonly #asked = new Map<string, Promise<KnownState | undefined>>();
  /** By id. */
  readonly #states = new LRUCache<string, KnownState>({ max: MAX_KNOWN });
  /** By the change of the template they were read after, and their number. */
  readonly #versions = new LRUCache<string, TemplateVersion>({
    max: MAX_KNOWN,
    maxSize: MAX_KNOWN_CHARS,
    sizeCalculation: ({ body }) => Math.max(1, body.length),
  });

  constructor(store: SqlStore) {
    this.#store = store;
  }

  async getTemplate(id: string): Promise<TemplateState | undefined> {
    const [row] = await this.#store.read(`SELECT state FROM ${TABLE} WHERE id = ?`, [id]);
    return row === undefined ? undefined : stateOf(row);
  }

  getTemplateVersion(id: string, version: number): Promise<TemplateVersion | undefined> {
    return this.#readVersion(id, version);
  }

  async chooseVersion(
    id: string,
    choose: (state: TemplateState) => number,
  ): Promise<ChosenVersion | undefined> {
    const known = await this.#stateNow(id);
    if (known === undefined) return undefined;
    const { changeId, state } = known;
    const number = choose(state);
    const key = `${changeId} ${number}`;
    const version = this.#versions.get(key) ?? (await this.#readVersion(id, number, AT_ONCE));
    if (version !== undefined) this.#versions.set(key, version);
    return { state, version };
  }

  /** Callers of one turn of the event loop share a look: a look costs more than what follows it. */
  #stateNow(id: string): Promise<KnownState | undefined> {
    const asked = this.#asked.get(id) ?? this.#stateSoon(id);
    this.#asked.set(id, asked);
    return asked;
  }

  async #stateSoon(id: string): Promise<KnownState | undefined> {
    await setImmediate();
    this.#asked.delete(id);
    return this.#readState(id);
  }

  /** Parses a state once for each change of the template. */
  async #readState(id: string): Promise<KnownState | undefined> {
    const ask = `SELECT change_id FROM ${TABLE} WHERE id = ?`;
    const [found] = await this.#store.read(ask, [id], AT_ONCE);
    if (found === undefined) return undefined;
    const known = this.#states.get(id);
    if (known?.changeId === text(found['change_id'])) return known;
    const sql = `SELECT change_id, state FROM ${TABLE} WHERE id = ?`;
    const [row] = await this.#store.read(sql, [id], AT_ONCE);
    if (row === undefined) return undefined;
    const read = { changeId: text(row['change_id']), state: stateOf(row) };
    this.#states.set(id, read);
    return read;
  }

  async #readVersion(
    id: string,
    version: number,
    options?: SqlReadOptions,
  ): Promise<TemplateVersion | undefined> {
    const sql = `SELECT * FROM ${VERSIONS} WHERE id = ? AND version = ?`;
    const [row] = await this.#store.read(sql, [id, version], options);
    return row === undefined ? undefined : { ...listingOf(row), body: text(row['body']) };
  }

  async listTemplates({ kind, limit, after }: TemplateQuery = {}): Promise<
    readonly { readonly state: TemplateState; readonly newest: TemplateListing }[]
  > {
    const last = after === undefined ? undefined : await this.getTemplate(after);
    const conditions = [
      ...(kind === undefined ? [] : ['v.kind = ?']),
      ...(last === undefined ? [] : [BEHIND]),
    ];
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    const rows = await this.#store.read(
      `${LIST} ${where} ${IN_ORDER} ${limit === undefined ? '' : 'LIMIT ?'}`,
      [
        ...(kind === undefined ? [] : [kind]),
        ...(last === undefined ? [] : [last.registered_at, last.registered_at, last.id]),
        ...(limit === undefined ? [] : [limit]),
      ],
    );
    return rows.map((row) => ({ state: stateOf(row), newest: listingOf(row) }));
  }

  async listScheduled(): Promise<readonly { readonly id: string; readonly version: number }[]> {
    const sql = `SELECT id, version FROM ${VERSIONS} WHERE is_scheduled = 1 ORDER BY id, version`;
    const rows = await this.#store.read(sql, []);
    return rows.map((row) => ({ id: text(row['id']), version: Number(row['version']) }));
  }

  async changeTemplate({ before, after, version }: TemplateChange): Promise<boolean> {
    const statements = after === undefined ? removal(before) : replacement(before, after, version);
    const [changed] = await this.#store.write(statements);
    return changed === 1;
  }
}

function removal(before: TemplateState | undefined): SqlStatement[] {
  const id = before?.id ?? '';
  return [
    {
      sql: `DELETE FROM ${TABLE} WHERE id = ? AND revision = ?`,
      values: [id, before?.revision ?? 0],
    },
    {
      sql: `DELETE FROM ${VERSIONS} WHERE id = ? AND NOT EXISTS (SELECT 1 FROM ${TABLE} WHERE id = ?)`,
      values: [id, id],
    },
  ];
}

function replacement(
  before: TemplateState | undefined,
  after: TemplateState,
  version: TemplateVersion | undefined,
): SqlStatement[] {
  const { id, revision, registered_at, versions } = after;
  const changeId = randomUUID();
  const content = [revision, changeId, registered_at, versions[0] ?? 0, JSON.stringify(after)];
  const statements: SqlStatement[] = [
    before === undefined
      ? { sql: CREATE, values: [id, ...content] }
      : { sql: CHANGE, values: [...content, id, before.revision] },
  ];
  if (version !== undefined)
    statements.push({ sql: ADD_VERSION, values: [...valuesOf(version), id, changeId] });
  const places = versions.map(() => '?').join(', ');
  statements.push({
    sql: `DELETE FROM ${VERSIONS} WHERE id = ? AND version NOT IN (${places}) AND ${IF_CHANGED}`,
    values: [id, ...versions, id, changeId],
  });
  return statements;
}

function valuesOf({
  params,
  is_scheduled,
  ...version
}: TemplateVersion): (string | number | null)[] {
  const values = {
    ...version,
    params: stringifyJson(params),
    is_scheduled: is_scheduled ? 1 : 0,
  };
  return COLUMNS.map((column) => values[column]);
}

/** Was written by `replacement`. */
function stateOf(row: Row): TemplateState {
  return parseJson(text(row['state'])) as unknown as TemplateState;
}

function listingOf(row: Row): TemplateListing {
  return {
    id: text(row['id']),
    version: Number(row['version']),
    kind: text(row['kind']),
    name: textOrNull(row['name']),
    description: textOrNull(row['description']),
    format: text(row['format']) === 'json' ? 'json' : 'yaml',
    params: parseJson(text(row['params'])) as JsonObject,
    created_at: text(row['created_at']),
    created_by: textOrNull(row['created_by']),
    is_scheduled: Number(row['is_scheduled']) === 1,
  };
}

function textOrNull(value: Row[string] | undefined): string | null {
  return value == null ? null : text(value);
}
