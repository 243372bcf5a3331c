/** Rolls a run back in its table, together with the watermark, in one transaction. */
import { ConnectorError } from '../../lib/errors.ts';
import { parseJson, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { quoteName, quoteNames } from '../../lib/sql/sql-name.ts';
import {
  rollbackResultOf,
  type SinkRollbackRequest,
  type SinkRollbackResult,
} from '../../kit/rollback.ts';
import type {
  RollbackChange,
  RollbackDialect,
  LiveColumn,
  RollbackDriver,
  RollbackSession,
} from './driver.ts';
import {
  columnOf,
  isKey,
  ROLLBACK_LOG_COLUMNS,
  ROLLBACK_LOG_TABLE,
  labelOf,
  PREVIOUS,
  ROLLED_BACK,
  type Replaced,
} from './rollback-log.ts';

type Counts = Pick<SinkRollbackResult, 'deleted' | 'restored' | 'conflicts'>;

/** What a rollback would do, and the function that does it. */
interface Way {
  measure(): Promise<Counts>;
  apply(): Promise<void>;
}

interface Target extends RollbackChange {
  /** Names of the key columns. */
  readonly key: readonly string[];
}

export async function rollBackRun(
  driver: RollbackDriver,
  target: Target,
  request: SinkRollbackRequest,
): Promise<SinkRollbackResult> {
  if (!request.dryRun) await driver.createRollbackLog();
  return driver.atOnce(target, async (session) => {
    const rollback = new RunRollback(session, driver.dialect, { target, request });
    const done = await rollback.done();
    if (done !== undefined) return done;
    const way = await rollback.way();
    const counts = await way.measure();
    const isBlocked = counts.conflicts > 0 && !request.force;
    if (isBlocked) return { applied: false, deleted: 0, restored: 0, conflicts: counts.conflicts };
    if (request.dryRun) return { applied: false, ...counts };
    await way.apply();
    if (request.watermark !== undefined)
      await session.setToken(request.watermark.scope, request.watermark.token);
    await rollback.note(counts);
    return { applied: true, ...counts };
  });
}

/** The result of a run that was rolled back before. */
export function rolledBackRun(
  driver: RollbackDriver,
  target: Target,
  runId: string,
): Promise<SinkRollbackResult | undefined> {
  const request = { runId, column: '', mode: 'append', dryRun: true, force: false } as const;
  return driver.atOnce(target, (session) =>
    new RunRollback(session, driver.dialect, { target, request }).done(),
  );
}

/** Deletes everything kept for runs, also the rows replaced by the last overwrite among them. */
export async function forgetRuns(
  driver: RollbackDriver,
  target: Target,
  runIds: readonly string[],
): Promise<void> {
  const { dialect } = driver;
  const { table } = target;
  await driver.atOnce(target, async (session) => {
    if ((await session.columns(ROLLBACK_LOG_TABLE)) === undefined) return;
    for (const runId of runIds) {
      const where = `run_id = ${dialect.slot(1)} AND table_name = ${dialect.slot(2)}`;
      const values = [runId, table];
      const notes = await session.all(
        `SELECT before_json FROM ${dialect.table(ROLLBACK_LOG_TABLE)} WHERE ${where} AND key_json = '${PREVIOUS}'`,
        values,
      );
      const replaced = notes
        .map((row) => replacedOf(row['before_json']))
        .find((one) => one !== undefined);
      if (replaced !== undefined)
        await session.run(`DROP TABLE IF EXISTS ${dialect.table(replaced.table)}`);
      await session.run(`DELETE FROM ${dialect.table(ROLLBACK_LOG_TABLE)} WHERE ${where}`, values);
    }
  });
}

class RunRollback {
  readonly #session: RollbackSession;
  readonly #dialect: RollbackDialect;
  readonly #target: Target;
  readonly #request: SinkRollbackRequest;
  readonly #table: string;
  readonly #log: string;

  constructor(
    session: RollbackSession,
    dialect: RollbackDialect,
    { target, request }: { target: Target; request: SinkRollbackRequest },
  ) {
    this.#session = session;
    this.#dialect = dialect;
    this.#target = target;
    this.#request = request;
    this.#table = dialect.table(target.table);
    this.#log = dialect.table(ROLLBACK_LOG_TABLE);
  }

  async done(): Promise<SinkRollbackResult | undefined> {
    if ((await this.#session.columns(ROLLBACK_LOG_TABLE)) === undefined) return undefined;
    const [note] = await this.#notes(ROLLED_BACK);
    return note === undefined ? undefined : rollbackResultOf(first(note['before_json']));
  }

  /** Deletes the entries of the run and adds a note that it was rolled back. */
  async note(counts: Counts): Promise<void> {
    const { sql, values } = this.#mine('j');
    await this.#session.run(`DELETE FROM ${this.#log} AS j WHERE ${sql}`, values);
    const slots = [1, 2, 3, 4].map((place) => this.#dialect.slot(place)).join(', ');
    await this.#session.run(
      `INSERT INTO ${this.#log} (${ROLLBACK_LOG_COLUMNS.join(', ')}) VALUES (${slots}, ${this.#dialect.now})`,
      [this.#request.runId, this.#target.table, ROLLED_BACK, stringifyJson([{ ...counts }])],
    );
  }

  async way(): Promise<Way> {
    const columns = await this.#session.columns(this.#target.table);
    switch (this.#request.mode) {
      case 'append':
        return this.#appended(columns);
      case 'upsert':
        return this.#keyed(
          columns ?? this.#fail(`there is no table \`${this.#target.table}\` any more`),
        );
      case 'overwrite':
        return this.#replaced(columns);
      default:
        return this.#request.mode satisfies never;
    }
  }

  #appended(columns: readonly LiveColumn[] | undefined): Way {
    if (columns === undefined)
      return {
        measure: () => Promise.resolve({ deleted: 0, restored: 0, conflicts: 0 }),
        apply: async () => {},
      };
    const where = `${this.#runColumn(columns)} = ${this.#dialect.slot(1)}`;
    const values = [this.#request.runId];
    return {
      measure: async () => ({
        deleted: await this.#count(`${this.#table} AS t WHERE ${where}`, values),
        restored: 0,
        conflicts: 0,
      }),
      apply: async () =>
        void (await this.#session.run(`DELETE FROM ${this.#table} AS t WHERE ${where}`, values)),
    };
  }

  #keyed(columns: readonly LiveColumn[]): Way {
    const key = this.#target.key.map(
      (name) =>
        columns.find((column) => column.name === name) ??
        this.#fail(noColumn(this.#target.table, name)),
    );
    const { json, decode, images, overriding } = this.#dialect;
    const keys = key.map(({ name }) => `t.${quoteName(name)}`);
    const placesOf = (entry: string): string[] =>
      key.map((column, index) => decode(`${json(`${entry}.key_json`)} ->> ${index}`, column));
    const same = (entry: string): string =>
      placesOf(entry)
        .map((place, index) => `${keys[index]} = ${place}`)
        .join(' AND ');
    const { sql: mine, values } = this.#mine('j');
    const entries = `${this.#log} AS j WHERE ${mine} AND ${isKey('j')}`;
    const isAmong = (which: string): string =>
      `${keys.length === 1 ? keys.join('') : `(${keys.join(', ')})`} IN (SELECT ${placesOf('j').join(', ')} FROM ${entries} AND ${which})`;
    const kept = `${this.#log} AS j ${images.join} WHERE ${mine} AND ${isKey('j')}`;
    const value = (column: LiveColumn): string =>
      decode(`i.image ->> '${labelOf(column.name)}'`, column);
    const source = `(SELECT j.key_json, ${images.image} AS image FROM ${kept}) AS i`;
    const run = (sql: string): Promise<number> => this.#session.run(sql, values);
    return {
      measure: async () => {
        this.#assertPlaces(await this.#keptColumns(source, values), columns);
        return {
          deleted: await this.#count(
            `${this.#table} AS t WHERE ${isAmong('j.before_json IS NULL')}`,
            values,
          ),
          restored: await this.#count(kept, values),
          conflicts: await this.#conflicts(columns, {
            mine,
            values,
            same: same('j'),
            present: keys[0] ?? 'NULL',
          }),
        };
      },
      apply: async () => {
        // Several rows with the same key cannot be distinguished, so the current ones are deleted
        // and the previous ones inserted.
        await run(
          `DELETE FROM ${this.#table} AS t WHERE ${isAmong(`(j.before_json IS NULL OR ${this.#length('j.before_json')} > 1)`)}`,
        );
        const known = await this.#imaged(columns, source, values);
        if (known.length === 0) return;
        const settable = known.filter((column) => column.settable !== false);
        await run(
          `UPDATE ${this.#table} AS t SET ${settable.map((column) => `${quoteName(column.name)} = ${value(column)}`).join(', ')}
           FROM ${source} WHERE ${same('i')}`,
        );
        await run(
          `INSERT INTO ${this.#table} (${quoteNames(known.map(({ name }) => name))}) ${overriding} SELECT ${known.map(value).join(', ')}
           FROM ${source} WHERE NOT EXISTS (SELECT 1 FROM ${this.#table} AS t WHERE ${same('i')})`,
        );
      },
    };
  }

  async #keptColumns(source: string, values: readonly string[]): Promise<string[]> {
    const labels = await this.#session.all(
      `SELECT DISTINCT k.key AS label FROM ${source}, ${this.#dialect.labels('i.image')}`,
      values,
    );
    return labels.map(({ label }) => columnOf(String(label)));
  }

  /** The values of a column that was dropped or renamed since then cannot be restored. */
  #assertPlaces(kept: readonly string[], columns: readonly LiveColumn[]): void {
    const gone = kept.find((name) => !columns.some((column) => column.name === name));
    if (gone === undefined || this.#request.force) return;
    this.#fail(
      `the table \`${this.#target.table}\` has no column \`${gone}\` any more, and its values cannot be restored (force leaves them out)`,
    );
  }

  /**
   * The columns that stored rows have; columns added to the table after the run are not changed.
   */
  async #imaged(
    columns: readonly LiveColumn[],
    source: string,
    values: readonly string[],
  ): Promise<LiveColumn[]> {
    const has = columns.map(
      ({ name }, index) => `count(i.image -> '${labelOf(name)}') AS c${index}`,
    );
    const [counts] = await this.#session.all(`SELECT ${has.join(', ')} FROM ${source}`, values);
    return columns.filter((_, index) => Number(counts?.[`c${index}`]) > 0);
  }

  /** Keys whose row was written or removed by another run since. */
  #conflicts(
    columns: readonly LiveColumn[],
    on: { mine: string; values: readonly string[]; same: string; present: string },
  ): Promise<number> {
    // The table of a run that only deletes may have no such column; a row that exists again was
    // then not written by it.
    const isMarked = columns.some((column) => column.name === this.#request.column);
    const isTheirs = isMarked
      ? `t.${quoteName(this.#request.column)} IS DISTINCT FROM ${this.#dialect.slot(3)}`
      : '1 = 1';
    const later = `SELECT 1 FROM ${this.#log} AS l WHERE l.table_name = j.table_name AND l.run_id <> j.run_id
      AND ((l.key_json = j.key_json AND l.before_json IS NOT NULL) OR l.key_json = '${PREVIOUS}')
      AND (l.recorded_at, l.run_id) > (j.recorded_at, j.run_id)`;
    return this.#count(
      `(SELECT DISTINCT j.key_json FROM ${this.#log} AS j LEFT JOIN ${this.#table} AS t ON ${on.same}
        WHERE ${on.mine} AND ${isKey('j')}
        AND ((${on.present} IS NOT NULL AND ${isTheirs}) OR (${on.present} IS NULL AND EXISTS (${later})))) AS c`,
      isMarked ? [...on.values, this.#request.runId] : on.values,
    );
  }

  async #replaced(columns: readonly LiveColumn[] | undefined): Promise<Way> {
    const [note] = await this.#notes(PREVIOUS);
    if (note === undefined)
      this.#fail(
        'the rows that the run replaced are not kept any more, because of a later overwrite',
      );
    const replaced = replacedOf(note['before_json']);
    if (columns === undefined) this.#fail(`there is no table \`${this.#target.table}\` any more`);
    const inside = insideOf(replaced, this.#dialect);
    const here = `${this.#table} AS t${inside.sql}`;
    const theirs = `${here}${inside.sql === '' ? ' WHERE' : ' AND'} ${this.#runColumn(columns)} IS DISTINCT FROM ${this.#dialect.slot(inside.values.length + 1)}`;
    const previous = replaced === undefined ? undefined : this.#dialect.table(replaced.table);
    const known =
      replaced === undefined
        ? []
        : ((await this.#session.columns(replaced.table)) ??
          this.#fail(`there is no table \`${replaced.table}\` any more`));
    this.#assertPlaces(
      known.map(({ name }) => name),
      columns,
    );
    const names = quoteNames(
      columns
        .map(({ name }) => name)
        .filter((name) => known.some((column) => column.name === name)),
    );
    return {
      measure: async () => ({
        deleted: await this.#count(here, inside.values),
        restored: previous === undefined ? 0 : await this.#count(previous, []),
        conflicts: await this.#count(theirs, [...inside.values, this.#request.runId]),
      }),
      apply: async () => {
        if (previous === undefined) {
          await this.#session.run(`DROP TABLE ${this.#table}`);
          return;
        }
        await this.#session.run(`DELETE FROM ${here}`, inside.values);
        await this.#session.run(
          `INSERT INTO ${this.#table} (${names}) ${this.#dialect.overriding} SELECT ${names} FROM ${previous}`,
        );
        await this.#session.run(`DROP TABLE ${previous}`);
      },
    };
  }

  #runColumn(columns: readonly LiveColumn[]): string {
    const { column } = this.#request;
    if (columns.some(({ name }) => name === column)) return `t.${quoteName(column)}`;
    return this.#fail(noColumn(this.#target.table, column));
  }

  #length(json: string): string {
    return `json_array_length(${this.#dialect.json(json)})`;
  }

  /** The condition for entries of this run and table. */
  #mine(alias: string): { readonly sql: string; readonly values: string[] } {
    const { slot } = this.#dialect;
    return {
      sql: `${alias}.run_id = ${slot(1)} AND ${alias}.table_name = ${slot(2)}`,
      values: [this.#request.runId, this.#target.table],
    };
  }

  #notes(kind: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { sql, values } = this.#mine('j');
    return this.#session.all(
      `SELECT j.before_json FROM ${this.#log} AS j WHERE ${sql} AND j.key_json = '${kind}'`,
      values,
    );
  }

  async #count(from: string, values: readonly (string | null)[]): Promise<number> {
    const [row] = await this.#session.all(`SELECT count(*) AS n FROM ${from}`, values);
    return Number(row?.['n']);
  }

  #fail(message: string): never {
    throw new ConnectorError('missing', `the run cannot be rolled back: ${message}`);
  }
}

function noColumn(table: string, column: string): string {
  return `the table \`${table}\` has no column \`${column}\``;
}

function first(stored: unknown): JsonValue {
  const [value] = parseJson(String(stored)) as readonly JsonValue[];
  return value ?? null;
}

function replacedOf(stored: unknown): Replaced | undefined {
  return stored === null ? undefined : (first(stored) as unknown as Replaced);
}

function insideOf(
  replaced: Replaced | undefined,
  { slot }: RollbackDialect,
): { readonly sql: string; readonly values: readonly (string | null)[] } {
  const window = replaced?.window;
  if (window === undefined) return { sql: '', values: [] };
  const column = `t.${quoteName(window.column)}`;
  return {
    sql: ` WHERE ${column} >= ${slot(1)} AND ${column} < ${slot(2)}`,
    values: [window.from, window.to],
  };
}
