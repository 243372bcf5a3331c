/**
 * A server that speaks the protocol of Oracle Database (TNS and TTC, as the thin client of
 * node-oracledb does) for tests: it executes the statements of the connector with the PostgreSQL of
 * the tests. There is no Oracle Database for the machines of the tests; what only the real one does
 * is not proved by it.
 */
import { createServer, type AddressInfo } from 'node:net';
import { Client } from 'pg';
import { CATALOG, OWNER } from './oracle/catalog.ts';
import { Session, type Watched } from './oracle/session.ts';
import { freshDatabase } from './postgres.ts';

export const PASSWORD = 'Tr0ub4dor&';

export interface FakeOracle {
  readonly port: number;
  /** How the service is reached, as fields of a config. */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly service_name: string;
    readonly username: string;
    readonly password: string;
  };
  /** A client of the database behind. */
  readonly behind: Client;
  /** Makes a further service with a database of its own. */
  addService(name: string): Promise<{ readonly behind: Client }>;
  /** Looks at each statement; a number is the error that the server gives in its place. */
  watch(look: ((statement: string) => Watched) | undefined): void;
  /** Ends the connections to a service, in the middle of what they do. */
  breakConnections(service: string): void;
  close(): Promise<void>;
}

interface Database {
  readonly url: string;
  readonly behind: Client;
  drop(): Promise<void>;
}

const FIRST = 'shop';

export async function startFakeOracle(): Promise<FakeOracle> {
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
    await behind.query(`SET search_path = "${OWNER}", ora`);
    const database = { url, behind, drop: () => made.drop() };
    databases.set(name, database);
    return database;
  };
  const first = await add(FIRST);
  const server = createServer((socket) => {
    const session = new Session(socket, {
      user: OWNER,
      password: PASSWORD,
      behind: (name) => databases.get(name)?.url,
      watch: (statement) => look?.(statement),
    });
    sessions.add(session);
    socket.once('close', () => sessions.delete(session));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    connection: {
      host: '127.0.0.1',
      port,
      service_name: FIRST,
      username: OWNER.toLowerCase(),
      password: PASSWORD,
    },
    behind: first.behind,
    async addService(name) {
      const { behind } = await add(name);
      return { behind };
    },
    watch: (given) => (look = given),
    breakConnections(service) {
      for (const session of sessions) if (session.service === service) void session.close();
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
