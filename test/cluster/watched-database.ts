/**
 * A database that writes down what is done in it: what became of runs, and where bookmarks stood.
 * Whatever was told to a client, this is what happened.
 */
import { Client } from 'pg';
import { expect } from 'vitest';
import { freshDatabase } from '../servers/postgres.ts';
import type { Body } from '../e2e/serve-program.ts';

export const ROWS = 4000;
/** Rows of a page; each page takes `PAGE_MS` at least. */
const PAGE_ROWS = 20;
const PAGE_MS = 20;

const SOURCE = `
  CREATE TABLE origin (id bigint PRIMARY KEY, t text);
  INSERT INTO origin SELECT i, md5(i::text) FROM generate_series(1, ${ROWS}) AS i;
  CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${PAGE_MS / 1000}); RETURN NULL; END $$;
  CREATE TABLE bookmarks_seen (n bigserial PRIMARY KEY, key text, value bigint);
  CREATE TABLE state (key text PRIMARY KEY, value jsonb NOT NULL, updated_at timestamptz NOT NULL DEFAULT now());
  CREATE FUNCTION note_bookmark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.key NOT LIKE '.%' THEN INSERT INTO bookmarks_seen (key, value) SELECT NEW.key, max(v::text::bigint)
      FROM jsonb_path_query(jsonb_build_array(NEW.value), '$.**') AS v WHERE jsonb_typeof(v) = 'number'; END IF;
    RETURN NULL; END $$;
  CREATE TRIGGER note AFTER INSERT OR UPDATE ON state FOR EACH ROW EXECUTE FUNCTION note_bookmark();`;

const HISTORY = `
  CREATE TABLE runs_seen (n bigserial PRIMARY KEY, run_id text, status text, attempt int, owner text, at timestamptz DEFAULT clock_timestamp());
  CREATE FUNCTION note_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'INSERT' OR (OLD.status, OLD.attempt, OLD.owner) IS DISTINCT FROM (NEW.status, NEW.attempt, NEW.owner)
      THEN INSERT INTO runs_seen (run_id, status, attempt, owner) VALUES (NEW.run_id, NEW.status, NEW.attempt, NEW.owner); END IF;
    RETURN NULL; END $$;
  CREATE TRIGGER note AFTER INSERT OR UPDATE ON svc_serve_runs FOR EACH ROW EXECUTE FUNCTION note_run();`;

export interface SeenRun {
  readonly status: string;
  readonly attempt: number;
  readonly owner: string;
  /** Milliseconds. */
  readonly at: number;
}

export class WatchedDatabase {
  readonly url: string;
  readonly client: Client;
  readonly #drop: () => Promise<void>;

  static async open(): Promise<WatchedDatabase> {
    const database = await freshDatabase();
    const { url } = database;
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(SOURCE);
    return new WatchedDatabase(url, client, () => database.drop());
  }

  /** One that was opened before: its server may have ended all connections since. */
  static async again(url: string): Promise<WatchedDatabase> {
    const client = new Client({ connectionString: url });
    // A server that ends a connection is no news to whoever asks nothing; a query fails by itself.
    client.on('error', () => {});
    await client.connect();
    return new WatchedDatabase(url, client, () => Promise.resolve());
  }

  /** On a server of its own. */
  static async on(url: string): Promise<WatchedDatabase> {
    const database = await WatchedDatabase.again(url);
    await database.client.query(SOURCE);
    return database;
  }

  private constructor(url: string, client: Client, drop: () => Promise<void>) {
    this.url = url;
    this.client = client;
    this.#drop = drop;
  }

  /** Watches runs from now on; a server has made the tables. */
  async watchRuns(): Promise<void> {
    await this.client.query(HISTORY);
  }

  /** Moves `origin` into a table of this name, slowly, and remembers how far it came. */
  async document(name: string): Promise<Body> {
    await this.#slowTable(name);
    return {
      version: 1,
      name,
      pipeline: {
        source: {
          type: 'postgres',
          config: {
            connection_url: this.url,
            query: 'SELECT * FROM origin',
            batch_size: PAGE_ROWS,
            replication: { type: 'incremental', column: 'id', initial_value: 0 },
          },
        },
        sink: {
          type: 'postgres',
          config: {
            connection_url: this.url,
            table_name: name,
            column_mapping: 'auto_map',
            write_mode: 'upsert',
            key: ['id'],
          },
        },
        // Pages of records have a bookmark each.
        transforms: [{ type: 'value_case', config: { fields: ['t'], mode: 'upper' } }],
        state: { type: 'postgres', config: { url: this.url, table: 'state' } },
      },
    };
  }

  /** The same by a watermark: nothing but that keeps records from being there twice. */
  async exact(name: string): Promise<Body> {
    const document = await this.document(name);
    await this.client.query(`ALTER TABLE ${name} DROP CONSTRAINT ${name}_pkey`);
    const { pipeline } = document as { pipeline: { sink: { config: object } } };
    const sink = {
      type: 'postgres',
      config: {
        connection_url: this.url,
        table_name: name,
        column_mapping: 'auto_map',
        write_mode: 'append',
      },
    };
    return { ...document, delivery: 'exactly_once', pipeline: { ...pipeline, sink } };
  }

  /** The same in so many shards, in pages of so many rows. */
  async sharded(name: string, count: number, pageRows = 5 * PAGE_ROWS): Promise<Body> {
    await this.#slowTable(name);
    return {
      version: 1,
      name,
      shard: { count },
      pipeline: {
        source: {
          type: 'postgres',
          config: {
            connection_url: this.url,
            query: 'SELECT * FROM origin',
            batch_size: pageRows,
            shard: { key: 'id' },
          },
        },
        sink: {
          type: 'postgres',
          config: {
            connection_url: this.url,
            table_name: name,
            column_mapping: 'auto_map',
            write_mode: 'upsert',
            key: ['id'],
          },
        },
        transforms: [{ type: 'value_case', config: { fields: ['t'], mode: 'upper' } }],
      },
    };
  }

  async #slowTable(name: string): Promise<void> {
    await this.client.query(
      `CREATE TABLE ${name} (id bigint PRIMARY KEY, t text); CREATE TRIGGER slow AFTER INSERT ON ${name} FOR EACH STATEMENT EXECUTE FUNCTION slowly()`,
    );
  }

  async count(table: string): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${table}`,
    );
    return rows[0]?.n ?? 0;
  }

  /** What was stored of a run, in its order. */
  async seen(runId: string): Promise<readonly SeenRun[]> {
    const { rows } = await this.client.query<SeenRun>(
      `SELECT status, attempt, owner, (extract(epoch FROM at) * 1000)::float8 AS at FROM runs_seen WHERE run_id = $1 ORDER BY n`,
      [runId],
    );
    return rows;
  }

  /** Every run ended once, and nothing was written of it afterwards. */
  async expectSoundRuns(): Promise<void> {
    const { rows } = await this.client.query<{ run_id: string; seen: string[] }>(
      `SELECT run_id, array_agg(status ORDER BY n) AS seen FROM runs_seen GROUP BY run_id`,
    );
    expect(rows.length).toBeGreaterThan(0);
    const ends = ['completed', 'failed', 'cancelled'];
    const wrong = rows.filter(
      ({ seen }) =>
        !ends.includes(seen.at(-1) ?? '') || seen.filter((one) => ends.includes(one)).length !== 1,
    );
    expect(wrong).toEqual([]);
  }

  /** The table holds what was moved into it, and the bookmark never went back. */
  async expectMoved(table: string): Promise<void> {
    const { rows } = await this.client.query<{ more: number }>(
      `SELECT count(*)::int AS more FROM (SELECT id, t FROM ${table} EXCEPT ALL SELECT id, upper(t) FROM origin) AS x`,
    );
    expect([await this.count(table), rows[0]?.more]).toEqual([ROWS, 0]);
    const back = await this.client.query(
      `SELECT * FROM (SELECT key, value, lag(value) OVER (PARTITION BY key ORDER BY n) AS before FROM bookmarks_seen WHERE key LIKE '${table}%') AS s WHERE value < before`,
    );
    expect(back.rows).toEqual([]);
    const moved = await this.client.query(`SELECT FROM bookmarks_seen WHERE key LIKE '${table}%'`);
    expect(moved.rowCount).toBeGreaterThan(20);
  }

  async close(): Promise<void> {
    await this.client.end();
    await this.#drop();
  }
}
