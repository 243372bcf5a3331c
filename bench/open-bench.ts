/** What moves are given, and the servers that they start, which end with it. */
import { mkdirSync } from 'node:fs';
import { chooseBuild } from './build.ts';
import { peopleFile } from './data.ts';
import { startDatabase, type Database } from './database.ts';
import type { Bench } from './move.ts';
import type { Options } from './options.ts';

export interface OpenBench extends Bench {
  /** Stops all servers, the last one first. */
  close(): Promise<void>;
}

export async function openBench(options: Options): Promise<OpenBench> {
  const { rows, runs, build, folder } = options;
  mkdirSync(folder, { recursive: true });
  await chooseBuild(build, folder);
  const stops: (() => Promise<unknown>)[] = [];
  let database: Promise<Database> | undefined;
  return {
    rows,
    runs,
    build,
    folder,
    async database() {
      database ??= startDatabase(peopleFile(folder, rows));
      return database;
    },
    atEnd: (stop) => void stops.push(stop),
    say: (text) => console.error(text),
    async close() {
      for (const stop of stops.toReversed()) await stop();
      await (await database)?.stop();
    },
  };
}
