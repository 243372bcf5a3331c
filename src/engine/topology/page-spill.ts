import type { DatabaseSync } from 'node:sqlite';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { parseJson, stringifyJson } from '../../lib/text/json.ts';
import { packJson, unpackJson } from '../../lib/text/packed-json.ts';
import { openTemporaryDatabase } from '../temporary-database.ts';

/** Pages in a line on disk: first in, first out. */
export class PageSpill {
  #db: DatabaseSync | undefined;
  /** By the number of their page; few are different. */
  readonly #schemas = new Map<number, RecordSchema>();
  #first = 0;
  #end = 0;

  get empty(): boolean {
    return this.#first === this.#end;
  }

  push(page: Page): void {
    this.#db ??= openTemporaryDatabase(
      'CREATE TABLE pages (seq INTEGER PRIMARY KEY, bytes INTEGER, bookmark TEXT, records TEXT)',
    );
    const bookmark = page.bookmark === undefined ? null : stringifyJson(page.bookmark);
    this.#db
      .prepare('INSERT INTO pages VALUES (?, ?, ?, ?)')
      .run(this.#end, page.bytes, bookmark, packJson(page.records()));
    if (page.schema !== undefined) this.#schemas.set(this.#end, page.schema);
    this.#end += 1;
  }

  shift(): Page | undefined {
    if (this.#db === undefined || this.empty) return undefined;
    const row = this.#db
      .prepare('DELETE FROM pages WHERE seq = ? RETURNING bytes, bookmark, records')
      .get(this.#first);
    if (row === undefined)
      throw new Error(`cannot happen: page ${this.#first} was never put aside`);
    const schema = this.#schemas.get(this.#first);
    this.#schemas.delete(this.#first);
    this.#first += 1;
    const { bytes, bookmark, records } = row as {
      bytes: number;
      bookmark: string | null;
      records: string;
    };
    const mark = bookmark === null ? {} : { bookmark: parseJson(bookmark) };
    // What its records were made of is not kept on disk.
    const options = { bytes, schema, madeOf: (): undefined => undefined, ...mark };
    return Page.ofRecords(unpackJson(records), options);
  }

  /** What is left is forgotten. */
  close(): void {
    this.#db?.close();
    this.#db = undefined;
    this.#first = this.#end;
  }
}
