/**
 * Compares two sets of records key by key. The first side is put into a private database, so that
 * memory stays small however many there are; the second passes by.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { JsonObject } from '../../lib/text/json.ts';
import { keepStoredRow, storedRowOf, storedValue } from '../../lib/sql/sqlite-values.ts';
import type { Difference } from '../../wire/verify.ts';
import { openTemporaryDatabase } from '../temporary-database.ts';
import type { HeldBack } from './held-back.ts';
import type { RecordForms } from './normal-form.ts';
import { fingerprint } from './record-digest.ts';
import { RecordKeeper } from './kept-record.ts';

/** A difference, and what a repair needs. */
export interface Found {
  readonly difference: Difference;
  /**
   * The record as the source has it; absent where it has none, or several. Its key is spelled as in
   * the destination, where that has it: in another spelling it might be another row there.
   */
  readonly record?: JsonObject;
  /** The key as only the destination has it, with the row that it was read from. */
  readonly extraKey?: JsonObject;
}

export interface KeyedDiffOptions {
  readonly forms: RecordForms;
  /** Differences that are kept at most. */
  readonly room: number;
  /**
   * Present when the source gives changes: the last record of a key counts, and deleted ones are
   * not in the destination.
   */
  readonly isDeletion?: ((record: JsonObject) => boolean) | undefined;
  /** Records of the source that wait in the dead-letter queue. */
  readonly heldBack?: Pick<HeldBack, 'has'> | undefined;
}

/**
 * What is known of each source record, in a byte: how often the destination has its key, or that it
 * does not stand for its key alone.
 */
const SEEN = 0x3f;
const SUPERSEDED = 0x40;
const REPEATED = 0x80;

interface StoredRow {
  readonly id: number;
  /** Null for a deletion. */
  readonly print: string | null;
}

export class KeyedDiff {
  readonly #options: KeyedDiffOptions;
  readonly #db: DatabaseSync;
  readonly #keeper = new RecordKeeper();
  readonly #insert: StatementSync;
  #rows = 0;
  #sealed: Sealed | undefined;
  readonly #changed = new Map<number, Found>();
  readonly #repeatedThere = new Map<string, { readonly key: JsonObject; count: number }>();
  readonly #extra = new Map<string, Extra>();

  constructor(options: KeyedDiffOptions) {
    this.#options = options;
    this.#db = openTemporaryDatabase(
      'CREATE TABLE rows (id INTEGER PRIMARY KEY, key TEXT, print TEXT, record TEXT); CREATE TABLE there (key TEXT, print TEXT)',
    );
    this.#insert = this.#db.prepare('INSERT INTO rows VALUES (?, ?, ?, ?)');
  }

  /** No more differences can be kept. */
  get full(): boolean {
    return this.#changed.size + this.#extra.size + this.#repeatedThere.size >= this.#options.room;
  }

  addSource(records: readonly JsonObject[]): void {
    const { forms, isDeletion } = this.#options;
    for (const record of records) {
      this.#rows += 1;
      const gone = isDeletion?.(record) === true;
      this.#insert.run(
        this.#rows,
        storedKey(forms.key(record)),
        gone ? null : fingerprint(forms.text(record)),
        gone ? null : this.#keeper.textOf(record),
      );
    }
  }

  addDestination(records: readonly JsonObject[]): void {
    const sealed = this.#seal();
    for (const record of records) {
      const key = this.#options.forms.key(record);
      const row = sealed.find.get(storedKey(key)) as unknown as StoredRow | undefined;
      if (row === undefined || row.print === null) this.#addExtra(key, record);
      else if (((sealed.flags[row.id] ?? 0) & REPEATED) !== 0)
        sealed.insertThere.run(storedKey(key), fingerprint(this.#options.forms.text(record)));
      else this.#addKnown({ id: row.id, print: row.print }, key, record, sealed.flags);
      if (this.full) return;
    }
  }

  /** A side that was not read completely proves nothing about missing records. */
  finish({
    sourceWhole,
    destinationWhole,
  }: {
    readonly sourceWhole: boolean;
    readonly destinationWhole: boolean;
  }): Found[] {
    const { flags, repeats } = this.#seal();
    const found = [
      ...this.#changed.values(),
      ...(sourceWhole ? [...this.#extra.values()].map(extraOf) : []),
      ...[...this.#repeatedThere.values()].map(({ key, count }) =>
        repeatedOf('destination', key, count),
      ),
    ];
    if (!destinationWhole) return found;
    if (sourceWhole && repeats) found.push(...this.#repeatedHere());
    for (let id = 1; id <= this.#rows && found.length <= this.#options.room; id += 1) {
      if (flags[id] !== 0) continue;
      const record = this.#recordAt(id);
      if (this.#options.heldBack?.has(record) === true) continue;
      found.push({
        difference: { key: this.#options.forms.named(record), kind: 'missing_in_dest' },
        record,
      });
    }
    return found;
  }

  close(): void {
    this.#db.close();
  }

  #addExtra(identity: string, record: JsonObject): void {
    const known = this.#extra.get(identity);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const key = this.#options.forms.named(record);
    this.#extra.set(identity, { key, stored: withRowOf(record, { ...key }), count: 1 });
  }

  #addKnown(
    { id, print }: { readonly id: number; readonly print: string },
    identity: string,
    record: JsonObject,
    flags: Uint8Array,
  ): void {
    const flag = flags[id] ?? 0;
    const seen = flag & SEEN;
    if (seen < SEEN) flags[id] = flag + 1;
    if (seen > 0) this.#countRepeat(identity, record, id);
    else this.#compare(id, print, record);
  }

  #countRepeat(identity: string, record: JsonObject, id: number): void {
    // A key that is there twice is that, and nothing else.
    this.#changed.delete(id);
    const known = this.#repeatedThere.get(identity);
    if (known === undefined)
      this.#repeatedThere.set(identity, { key: this.#options.forms.named(record), count: 2 });
    else known.count += 1;
  }

  #compare(id: number, print: string, there: JsonObject): void {
    const { forms } = this.#options;
    if (fingerprint(forms.text(there)) === print) return;
    const record = this.#recordAt(id);
    if (this.#options.heldBack?.has(record) === true) return;
    const columns = forms.differing(record, there);
    const spelled = Object.entries(forms.named(there)).flatMap(([name, value]) => {
      const text = storedValue(there, name) ?? value;
      return typeof text === 'string' ? [[name, text] as const] : [];
    });
    this.#changed.set(id, {
      difference: { key: forms.named(record), kind: 'changed', columns },
      record: { ...record, ...Object.fromEntries(spelled) },
    });
  }

  /** Called once the source is in: finds by key from now on. */
  #seal(): Sealed {
    if (this.#sealed !== undefined) return this.#sealed;
    const lastWins = this.#options.isDeletion !== undefined;
    this.#db.exec('CREATE INDEX by_key ON rows (key, id)');
    const flags = new Uint8Array(this.#rows + 1);
    let repeats = false;
    for (const { id, last } of this.#rowsOfRepeatedKeys()) {
      repeats = !lastWins;
      if (!lastWins) flags[id] = REPEATED;
      else if (id !== last) flags[id] = SUPERSEDED;
    }
    if (lastWins)
      for (const { id } of this.#db.prepare('SELECT id FROM rows WHERE record IS NULL').iterate())
        flags[Number(id)] = SUPERSEDED;
    const order = lastWins ? 'DESC' : 'ASC';
    const find = this.#db.prepare(
      `SELECT id, print FROM rows WHERE key = ? ORDER BY id ${order} LIMIT 1`,
    );
    const insertThere = this.#db.prepare('INSERT INTO there VALUES (?, ?)');
    return (this.#sealed = { flags, repeats, find, insertThere });
  }

  *#rowsOfRepeatedKeys(): Generator<{ readonly id: number; readonly last: number }> {
    const rows = this.#db
      .prepare(
        `SELECT id, last FROM rows
         JOIN (SELECT key, max(id) AS last FROM rows GROUP BY key HAVING count(*) > 1) AS repeated ON rows.key = repeated.key`,
      )
      .iterate();
    for (const row of rows) yield row as unknown as { id: number; last: number };
  }

  /** Keys that the source has more than once, unless both sides have the very same records. */
  #repeatedHere(): Found[] {
    const rows = this.#db.prepare(REPEATED_UNEQUALLY).all(this.#options.room + 1);
    return (rows as { id: number; here: number; there: number }[]).flatMap(
      ({ id, here, there }) => {
        const key = this.#options.forms.named(this.#recordAt(id));
        return [
          repeatedOf('source', key, here),
          ...(there > 1 ? [repeatedOf('destination', key, there)] : []),
        ];
      },
    );
  }

  #recordAt(id: number): JsonObject {
    const row = this.#db.prepare('SELECT record FROM rows WHERE id = ?').get(id);
    if (typeof row?.['record'] !== 'string')
      throw new Error(`cannot happen: source record ${id} was not kept`);
    return this.#keeper.recordOf(row['record']);
  }
}

interface Sealed {
  readonly flags: Uint8Array;
  /** Whether the source has a key more than once, of which each record counts. */
  readonly repeats: boolean;
  readonly find: StatementSync;
  /** Takes what the destination has of keys that the source has more than once. */
  readonly insertThere: StatementSync;
}

const REPEATED_UNEQUALLY = `
  SELECT here.id AS id, here.count AS here, coalesce(there.count, 0) AS there
  FROM (
    SELECT min(id) AS id, key, count(*) AS count, group_concat(print, '' ORDER BY print) AS prints FROM rows GROUP BY key HAVING count(*) > 1
  ) AS here
  LEFT JOIN (SELECT key, count(*) AS count, group_concat(print, '' ORDER BY print) AS prints FROM there GROUP BY key) AS there
    ON here.key = there.key
  WHERE there.prints IS NOT here.prints ORDER BY 1 LIMIT ?`;

/** Long keys are replaced by a fingerprint with this first letter, which no plain key has. */
const LONGEST_KEY = 64;

function storedKey(key: string): string {
  return key.length <= LONGEST_KEY ? key : `h${fingerprint(key)}`;
}

interface Extra {
  readonly key: JsonObject;
  readonly stored: JsonObject;
  count: number;
}

function extraOf({ key, stored, count }: Extra): Found {
  return count > 1
    ? repeatedOf('destination', key, count)
    : { difference: { key, kind: 'extra_in_dest' }, extraKey: stored };
}

function withRowOf(record: JsonObject, key: JsonObject): JsonObject {
  const row = storedRowOf(record);
  if (row !== undefined) keepStoredRow(key, row);
  return key;
}

function repeatedOf(side: 'source' | 'destination', key: JsonObject, count: number): Found {
  return { difference: { key, kind: 'duplicate', side, count } };
}
