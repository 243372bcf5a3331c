import type { Log } from '../../lib/log.ts';

/** What the client of SQLite puts in the place of bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

const INFINITE = {
  one: 'a REAL is infinite: a record has null for it, and only another SQLite file gets the infinity',
  all: 'REAL values were infinite, for which records have null',
  hint: 'have the query write it as a text, e.g. `CAST(column AS TEXT)`, where others need it',
} as const;
const NO_TEXT = {
  one: 'a text has U+FFFD, or bytes that are not UTF-8, for which a record has U+FFFD',
  all: 'texts had U+FFFD, or bytes that are not UTF-8',
  hint: '`SELECT hex(column)` shows what is stored; `CAST(column AS BLOB)` in the query moves the bytes',
} as const;

type Says = typeof INFINITE | typeof NO_TEXT;

/** Values of a SQLite file that a record cannot hold: the first of a kind is told, all are counted. */
export class StoredDoubts {
  readonly #log: Pick<Log, 'warn'>;
  readonly #names: readonly string[];
  readonly #counts = new Map<Says, number>();

  constructor(columns: readonly { readonly name: string }[], log: Pick<Log, 'warn'>) {
    this.#names = columns.map(({ name }) => name);
    this.#log = log;
  }

  see(row: readonly unknown[]): void {
    // For each row that is read: the fastest walk over an array.
    for (let place = 0; place < row.length; place += 1) {
      const stored = row[place];
      if (typeof stored === 'string') {
        if (stored.includes(REPLACEMENT)) this.#tell(NO_TEXT, place);
      } else if (typeof stored === 'number' && !Number.isFinite(stored)) {
        this.#tell(INFINITE, place);
      }
    }
  }

  /** To be called when all rows are read. */
  end(): void {
    for (const [{ all }, values] of this.#counts) if (values > 1) this.#log.warn(all, { values });
  }

  #tell(says: Says, place: number): void {
    const count = this.#counts.get(says) ?? 0;
    this.#counts.set(says, count + 1);
    if (count > 0) return;
    const hint = `${says.hint}; further values are only counted`;
    this.#log.warn(says.one, { column: this.#names[place] ?? '', hint });
  }
}
