/**
 * Pages of transactions. A page ends with a transaction wherever it can, and only then it has a
 * bookmark; a transaction that is larger than a page is given in several.
 */
import { Page } from '../../../kit/page.ts';
import { fits, isFull, type PageBounds } from '../../../kit/page-bounds.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { bookmarkOf } from './bookmark.ts';
import { CHANGE_SCHEMA } from './records.ts';

export interface TransactionPagesOptions {
  readonly bounds: PageBounds;
  /** Longest transaction; none of a longer one is given. */
  readonly longest: number | undefined;
  /** Whether pages have bookmarks. */
  readonly marks: boolean;
  readonly from: bigint;
}

export class TransactionPages {
  /** Pages that are complete. */
  readonly ready: Page[] = [];
  /** Records that were added, whether given or not. */
  count = 0;
  readonly #options: TransactionPagesOptions;
  #records: JsonObject[] = [];
  #sizes: number[] = [];
  #schemas: RecordSchema[] = [];
  #bytes = 0;
  /** How many of the records belong to transactions that are complete. */
  #whole = 0;
  /** Behind the last complete transaction, or what the server says holds no change. */
  #position: bigint;
  #marked: bigint;
  #commit: bigint | undefined;
  /** Records of the open transaction: all, those in earlier pages, and those to leave out. */
  #open = 0;
  #given = 0;
  #repeated: { readonly commit: bigint; readonly count: number } | undefined;

  constructor(options: TransactionPagesOptions) {
    this.#options = options;
    this.#position = options.from;
    this.#marked = options.from;
  }

  /** Where a reader has to go on after everything that is complete. */
  get position(): bigint {
    return this.#position;
  }

  get isOpen(): boolean {
    return this.#commit !== undefined;
  }

  /** Records that are in no page yet. */
  get waiting(): number {
    return this.#records.length;
  }

  /** The commit time of the oldest of them. */
  get oldestMs(): number | undefined {
    const time = this.#records[0]?.['ts_ms'];
    return typeof time === 'number' ? time : undefined;
  }

  /** Whether the position is ahead of the last bookmark. */
  get isAhead(): boolean {
    return this.#position > this.#marked;
  }

  begin(commit: bigint): void {
    if (this.#commit !== undefined) throw disorder('a transaction begins within another one');
    this.#commit = commit;
    this.#open = 0;
    this.#given = 0;
  }

  add(record: JsonObject, size: number, schema: RecordSchema): void {
    if (this.#commit === undefined) throw disorder('a change comes outside of a transaction');
    const { bounds, longest = Infinity } = this.#options;
    this.#open += 1;
    if (this.#open > longest) throw tooLong(longest);
    if (this.#isRepeated(this.#commit)) {
      this.#given += 1;
      return;
    }
    if (!fits(bounds, this.#records.length, this.#bytes, size)) this.#makeRoom(size);
    this.#records.push(record);
    this.#sizes.push(size);
    this.#schemas.push(schema);
    this.#bytes += size;
    this.count += 1;
  }

  commit(end: bigint): void {
    if (this.#commit === undefined) throw disorder('a transaction ends that has not begun');
    this.#commit = undefined;
    this.#repeated = undefined;
    this.#whole = this.#records.length;
    this.#position = end;
    const { bounds, longest } = this.#options;
    if (longest !== undefined) this.#giveFull();
    if (isFull(bounds, this.#whole, this.#bytes)) this.giveWhole();
    // Its records are in earlier pages, which wait for the bookmark.
    else if (this.#whole === 0 && this.#given > 0) this.mark();
    this.#given = 0;
  }

  /** There is no change before this position besides those that came. */
  pass(position: bigint): void {
    if (this.#commit === undefined && position > this.#position) this.#position = position;
  }

  /** Gives the transactions that are complete. */
  giveWhole(): void {
    if (this.#whole > 0) this.#give(this.#whole, true);
  }

  /** Gives all that is there, also of a transaction that is not complete. */
  giveAll(): void {
    this.giveWhole();
    if (this.#records.length > 0) this.#give(this.#records.length, false);
  }

  /** A bookmark without records. */
  mark(): void {
    if (this.#options.marks && this.#records.length === 0 && this.isAhead) this.#give(0, true);
  }

  /** The open transaction comes again from its beginning. */
  startOver(): void {
    if (this.#commit === undefined) return;
    const dropped = this.#records.length - this.#whole;
    this.#records.length = this.#whole;
    this.#bytes -= this.#sizes.splice(this.#whole).reduce((sum, size) => sum + size, 0);
    this.#schemas.length = this.#whole;
    this.count -= dropped;
    this.#repeated = { commit: this.#commit, count: this.#given };
    this.#commit = undefined;
  }

  #isRepeated(commit: bigint): boolean {
    return this.#repeated?.commit === commit && this.#open <= this.#repeated.count;
  }

  #makeRoom(size: number): void {
    this.giveWhole();
    const { bounds, longest } = this.#options;
    const isRoom = fits(bounds, this.#records.length, this.#bytes, size);
    if (!isRoom && longest === undefined) this.#give(this.#records.length, false);
  }

  /** Of transactions that were held back whole: as many pages as they fill, but for the last. */
  #giveFull(): void {
    const { bounds } = this.#options;
    for (;;) {
      let [count, bytes] = [0, 0];
      while (count < this.#records.length && fits(bounds, count, bytes, this.#sizes[count] ?? 0)) {
        bytes += this.#sizes[count] ?? 0;
        count += 1;
      }
      if (count === this.#records.length) return;
      this.#give(count, false);
    }
  }

  #give(count: number, isMarked: boolean): void {
    const records = this.#records.splice(0, count);
    const bytes = this.#sizes.splice(0, count).reduce((sum, size) => sum + size, 0);
    const [schema = CHANGE_SCHEMA, ...others] = new Set(this.#schemas.splice(0, count));
    this.#bytes -= bytes;
    this.#whole = Math.max(0, this.#whole - count);
    const hasMark = isMarked && this.#options.marks;
    this.ready.push(
      Page.ofRecords(records, {
        bytes,
        // Of the rows of several tables in one page nothing is known.
        schema: others.length === 0 ? schema : CHANGE_SCHEMA,
        ...(hasMark ? { bookmark: bookmarkOf(this.#position) } : {}),
      }),
    );
    if (hasMark) this.#marked = this.#position;
    else if (this.#commit !== undefined) this.#given += count;
  }
}

function disorder(what: string): ConnectorError {
  return new ConnectorError('data', `the server sends messages out of order: ${what}`);
}

function tooLong(longest: number): ConnectorError {
  return new ConnectorError(
    'refused',
    `a transaction has more than ${longest} changes (\`max_staged_records\`); none of it was written`,
    { hint: 'raise `max_staged_records`, or remove it: large transactions then come in parts' },
  );
}
