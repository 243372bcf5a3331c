import { randomUUID } from 'node:crypto';
import type { Bench } from '../move.ts';

/** Address of a new database, for a server of its own. */
export async function freshDatabase(bench: Bench): Promise<string> {
  const database = await bench.database();
  const name = `history_${randomUUID().replaceAll('-', '')}`;
  await database.execute(`CREATE DATABASE ${name}`);
  const address = new URL(database.url);
  address.pathname = `/${name}`;
  return address.href;
}
