/**
 * A server that speaks the protocol of SQL Server (TDS 7.4) for tests: it executes the T-SQL of the
 * connectors with the PostgreSQL of the tests. There is no SQL Server for the machines of the tests;
 * what only the real one does is not proved by it.
 */
import { createServer, type AddressInfo } from 'node:net';
import { Client } from 'pg';
import { CATALOG } from './mssql/catalog.ts';
import { CHANGE_DATA } from './mssql/change-data.ts';
import { Session, type Watched } from './mssql/session.ts';
import { freshDatabase } from './postgres.ts';

export const PASSWORD = 'Tr0ub4dor&';
const USER = 'tester';

export interface FakeMssql {
  /** Of the database of this server. */
  readonly url: string;
  readonly port: number;
  /** A client of the database behind. */
  readonly behind: Client;
  /** Makes a further database, and gives its address. */
  addDatabase(name: string): Promise<{ readonly url: string; readonly behind: Client }>;
  /** Looks at each statement; a number is the error that the server gives in its place. */
  watch(look: ((statement: string) => Watched) | undefined): void;
  /** Ends the connections to a database, in the middle of what they do. */
  breakConnections(url: string): void;
  close(): Promise<void>;
}

interface Database {
  readonly url: string;
  readonly behind: Client;
  drop(): Promise<void>;
}

export async function startFakeMssql(): Promise<FakeMssql> {
  const databases = new Map<string, Database>();
  const sessions = new Set<Session>();
  let look: ((statement: string) => Watched) | undefined;
  const add = async (name: string): Promise<Database> => {
    const made = await freshDatabase();
    const { url } = made;
    const behind = new Client({ connectionString: url });
    behind.on('error', () => {});
    await behind.connect();
    await behind.query(CATALOG);
    await behind.query(CHANGE_DATA);
    await behind.query('SET search_path = dbo, sys');
    const database = { url, behind, drop: () => made.drop() };
    databases.set(name, database);
    return database;
  };
  const first = await add('shop');
  const server = createServer((socket) => {
    const session = new Session(socket, {
      user: USER,
      password: PASSWORD,
      behind: (name) => databases.get(name === '' ? 'shop' : name)?.url,
      watch: (statement) => look?.(statement),
    });
    sessions.add(session);
    socket.once('close', () => sessions.delete(session));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const urlOf = (name: string): string =>
    `mssql://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${name}`;
  return {
    url: urlOf('shop'),
    port,
    behind: first.behind,
    async addDatabase(name) {
      const { behind } = await add(name);
      return { url: urlOf(name), behind };
    },
    watch: (given) => (look = given),
    breakConnections(url) {
      const name = url.slice(url.lastIndexOf('/') + 1);
      for (const session of sessions) if (session.database === name) void session.close();
    },
    async close() {
      server.close();
      await Promise.all([...sessions].map((session) => session.close()));
      for (const database of databases.values()) {
        await database.behind.end();
        await database.drop();
      }
    },
  };
}
