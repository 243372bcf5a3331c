/**
 * `node sqlite-statement.ts FROM INTO TABLE`: attaches a database file to another and copies a
 * table with one statement.
 */
import { DatabaseSync } from 'node:sqlite';

const [from = '', into = '', table = ''] = process.argv.slice(2);
const db = new DatabaseSync(into);
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
db.prepare('ATTACH ? AS origin').run(from);
db.exec(`INSERT INTO main.${table} SELECT * FROM origin.${table}`);
db.close();
