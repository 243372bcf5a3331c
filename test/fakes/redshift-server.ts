/**
 * A stand-in for Amazon Redshift: PostgreSQL behind a proxy that speaks its protocol. What Redshift
 * has and PostgreSQL lacks is added as far as the connector uses it: the types `super` and `varbyte`
 * with their functions, and COPY from objects of S3, which the proxy fetches and turns into an
 * INSERT of the same transaction.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Client } from 'pg';
import { freshDatabase } from '../servers/postgres.ts';
import { startFakeS3, type FakeS3 } from './s3-server.ts';

export interface FakeRedshift {
  readonly port: number;
  /** What a config needs to reach it. */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly database: string;
    readonly user: string;
    readonly credentials: { readonly type: string; readonly config: { readonly password: string } };
    readonly tls: false;
  };
  readonly store: FakeS3;
  /** The COPY statements that arrived, and the objects that were there at that time. */
  readonly copies: { readonly statement: string; readonly objects: readonly string[] }[];
  /** Asks the database itself. */
  readonly client: Client;
  close(): Promise<void>;
}

const OWN_TYPES = `CREATE DOMAIN super AS jsonb; CREATE DOMAIN varbyte AS bytea;
  CREATE FUNCTION json_parse(text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS 'SELECT $1::jsonb';
  CREATE FUNCTION to_varbyte(text, text) RETURNS bytea LANGUAGE sql IMMUTABLE AS 'SELECT decode($1, $2)'`;

export async function startFakeRedshift(): Promise<FakeRedshift> {
  const database = await freshDatabase();
  const target = new URL(database.url);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(OWN_TYPES);
  const store = await startFakeS3();
  const copies: FakeRedshift['copies'] = [];
  const sockets = new Set<Socket>();
  const rewrite = (statement: string): Promise<string> =>
    insertFor(statement, { client, store, copies }).catch((error: unknown) => failing(error));
  const server = createServer((socket) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const one of [socket, upstream]) {
      sockets.add(one);
      one
        .on('error', () => {})
        .on('close', () => {
          socket.destroy();
          upstream.destroy();
          sockets.delete(one);
        });
    }
    upstream.pipe(socket);
    void relay(socket, upstream, rewrite).catch(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const password = decodeURIComponent(target.password);
  return {
    port,
    connection: {
      host: '127.0.0.1',
      port,
      database: target.pathname.slice(1),
      user: decodeURIComponent(target.username),
      credentials: { type: 'password', config: { password } },
      tls: false,
    },
    store,
    copies,
    client,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await client.end();
      await store.close();
      await database.drop();
    },
  };
}

const HEAD = 5;

/** Passes messages on; the first one has no letter. */
async function relay(
  from: Socket,
  to: Socket,
  rewrite: (statement: string) => Promise<string>,
): Promise<void> {
  let bytes = Buffer.alloc(0);
  let isStarted = false;
  for await (const block of from) {
    bytes = Buffer.concat([bytes, block as Buffer]);
    if (!isStarted) {
      if (bytes.length < 4 || bytes.length < bytes.readInt32BE(0)) continue;
      const end = bytes.readInt32BE(0);
      to.write(bytes.subarray(0, end));
      bytes = bytes.subarray(end);
      isStarted = true;
    }
    while (bytes.length >= HEAD && bytes.length > bytes.readInt32BE(1)) {
      const end = 1 + bytes.readInt32BE(1);
      const message = bytes.subarray(0, end);
      bytes = bytes.subarray(end);
      const text = message[0] === 81 ? message.subarray(HEAD, -1).toString('utf8') : '';
      to.write(/^COPY\b/.test(text) ? queryMessage(await rewrite(text)) : message);
    }
  }
  to.end();
}

function queryMessage(statement: string): Buffer {
  const text = Buffer.from(`${statement}\0`);
  const head = Buffer.alloc(HEAD);
  head.write('Q');
  head.writeInt32BE(text.length + 4, 1);
  return Buffer.concat([head, text]);
}

/** Has the server say it, within the transaction. */
function failing(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return `DO $fake$ BEGIN RAISE EXCEPTION USING MESSAGE = ${quoted(text)}, ERRCODE = 'XX000'; END $fake$`;
}

const COPY = new RegExp(
  [
    String.raw`^COPY ("(?:[^"]|"")+"\."(?:[^"]|"")+") \((.+?)\)`,
    String.raw` FROM '((?:[^']|'')+)' IAM_ROLE (?:default|'arn:aws:iam::\d{12}:role/[^']+')`,
    String.raw`(?: REGION '([a-z0-9-]+)')?`,
    String.raw` FORMAT AS (?:JSON 'auto'|CSV NULL AS '((?:[^']|'')+)')`,
    String.raw` DATEFORMAT 'auto' TIMEFORMAT 'auto' ROUNDEC$`,
  ].join(''),
);

async function insertFor(
  statement: string,
  { client, store, copies }: Pick<FakeRedshift, 'client' | 'store' | 'copies'>,
): Promise<string> {
  const [match, table = '', list = '', address = '', , nulls] = COPY.exec(statement) ?? [];
  if (match === undefined) throw new Error(`syntax error in ${statement}`);
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/(.+)$/.exec(unquoted(address)) ?? [];
  const found = [...(store.buckets.get(bucket) ?? [])].filter(([key]) => key.startsWith(prefix));
  copies.push({ statement, objects: found.map(([, { body }]) => body.toString('utf8')) });
  if (found.length === 0) throw new Error(`The specified S3 prefix '${prefix}' does not exist`);
  const names = [...list.matchAll(/"((?:[^"]|"")+)"/g)].map(([, name = '']) =>
    name.replaceAll('""', '"'),
  );
  const types = await typesOf(client, table);
  const rows = found.flatMap(([, { body }]) =>
    nulls === undefined
      ? jsonRows(body.toString('utf8'), names)
      : csvRows(body.toString('utf8'), unquoted(nulls)),
  );
  const values = rows.map((row) => {
    if (row.length !== names.length) throw new Error('Extra column(s) found');
    const cells = row.map((cell, at) =>
      cell === null
        ? 'NULL'
        : quoted(types.get(names[at] ?? '') === 'varbyte' ? `\\x${cell}` : cell),
    );
    return `(${cells.join(', ')})`;
  });
  if (values.length === 0) return 'SELECT 1';
  return `INSERT INTO ${table} (${list}) VALUES ${values.join(', ')}`;
}

async function typesOf(client: Client, table: string): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, -1) AS type FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0`,
    [table],
  );
  return new Map(rows.map(({ name, type }) => [name, type]));
}

/** Values of columns that stand in the object; documents as their text. */
function jsonRows(text: string, names: readonly string[]): (string | null)[][] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const row = JSON.parse(line) as Record<string, unknown>;
    return names.map((name) => {
      const value = row[name] ?? null;
      if (value === null || typeof value === 'string') return value;
      return JSON.stringify(value);
    });
  });
}

/** A null is the text for it, in quotes or not: the documentation does not say that it differs. */
function csvRows(text: string, nulls: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  const CELL = /("(?:[^"]|"")*"|[^",\n]*)([,\n])/gy;
  for (const [, cell = '', end] of text.matchAll(CELL)) {
    const value = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
    row.push(value === nulls ? null : value);
    if (end !== '\n') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function unquoted(text: string): string {
  return text.replaceAll("''", "'");
}
