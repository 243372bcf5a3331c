/** Moves between SQLite files. */
import { existsSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PERSON_FIELDS, personAt } from '../data.ts';
import { headgateRun, program, type Move, type Side } from '../move.ts';

const TABLE =
  'CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, email TEXT, amount REAL, ts TEXT, active BOOLEAN, payload TEXT)';

const between: Move = {
  kind: 'processes',
  name: 'sqlite-sqlite',
  title: 'SQLite → SQLite, one table, no stage',
  async contest(bench) {
    const input = peopleDatabase(bench.folder, bench.rows);
    const side = (name: string, output: string, command: Side['command']): Side => ({
      name,
      command,
      prepare: () => emptyDatabase(output),
      verify: () => Promise.resolve(verifyPeople(output, input)),
      verified: 'both tables, row by row, by the database',
    });
    const [ours, theirs] = ['headgate', 'statement'].map((name) =>
      join(bench.folder, `sqlite-${name}.db`),
    ) as [string, string];
    return {
      rows: bench.rows,
      subject: side(
        'headgate',
        ours,
        headgateRun(bench.folder, 'sqlite-sqlite', document(input, ours)),
      ),
      others: [
        {
          ...side(
            'ATTACH and one INSERT … SELECT',
            theirs,
            program('sqlite-statement', input, theirs, 'people'),
          ),
          role: 'baseline',
          target: 0.2,
        },
      ],
    };
  },
};

export const sqliteMoves: readonly Move[] = [between];

function document(input: string, output: string): string {
  return `version: 1
name: sqlite-sqlite
pipeline:
  source: { type: sqlite, config: { database_url: '${input}', query: 'SELECT * FROM people' } }
  sink: { type: sqlite, config: { database_url: '${output}', table_name: people, column_mapping: auto_map } }
`;
}

/** Made once; the name tells the number of rows. */
function peopleDatabase(folder: string, rows: number): string {
  const path = join(folder, `people-${rows}.db`);
  if (existsSync(path)) return path;
  const db = new DatabaseSync(`${path}.part`);
  db.exec(`PRAGMA synchronous = OFF; DROP TABLE IF EXISTS people; ${TABLE}; BEGIN`);
  const insert = db.prepare(
    `INSERT INTO people VALUES (${PERSON_FIELDS.map(() => '?').join(', ')})`,
  );
  for (let index = 0; index < rows; index += 1) {
    const { id, name, email, amount, ts, active, payload } = personAt(index);
    insert.run(id, name, email, amount, ts, active ? 1 : 0, payload);
  }
  db.exec('COMMIT');
  db.close();
  renameSync(`${path}.part`, path);
  return path;
}

async function emptyDatabase(path: string): Promise<void> {
  for (const ending of ['', '-wal', '-shm']) await rm(`${path}${ending}`, { force: true });
  const db = new DatabaseSync(path);
  db.exec(TABLE);
  db.close();
}

function verifyPeople(path: string, input: string): void {
  const db = new DatabaseSync(path);
  db.prepare('ATTACH ? AS origin').run(input);
  const missing = db
    .prepare('SELECT count(*) AS n FROM (SELECT * FROM origin.people EXCEPT SELECT * FROM people)')
    .get();
  const counts = db
    .prepare('SELECT (SELECT count(*) FROM people) - (SELECT count(*) FROM origin.people) AS n')
    .get();
  db.close();
  if (missing?.['n'] !== 0 || counts?.['n'] !== 0)
    throw new Error(`${path} does not hold the rows of ${input}`);
}
