/**
 * Pages of transactions. A page ends with a transaction wherever it can, and only then it has a
 * bookmark; a transaction that is larger than a page is given in several.
 */
import { Page } from '../../kit/page.ts';
import { fits, isFull, type PageBounds } from '../../kit/page-bounds.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';

/** A change log, with positions of its own kind. */
export interface ChangeLog<P> {
  readonly schema: RecordSchema;
  bookmarkOf(position: P): JsonValue;
  isAfter(one: P, other: P): boolean;
}

export interface TransactionPagesOptions<P> {
  readonly log: ChangeLog<P>;
  readonly bounds: PageBounds;
  /** Longest transaction; none of a longer one is given. */
  readonly longest: number | undefined;
  /** Whether pages have bookmarks. */
  readonly marks: boolean;
  /** Where it begins, where that is known. */
  readonly from: P | undefined;
  /** Of the last bookmark; a run without one begins again at this position. */
  readonly marked: P | undefined;
}

export class TransactionPages<P> {
  /** Pages that are complete. */
  readonly ready: Page[] = [];
  /** Records that were added, whether given or not. */
  count = 0;
  readonly #options: TransactionPagesOptions<P>;
  #records: JsonObject[] = [];
  #sizes: number[] = [];
  #schemas: RecordSchema[] = [];
  #bytes = 0;
  /** How many of the records belong to transactions that are complete. */
  #whole = 0;
  /** Behind the last complete transaction, or what the server says holds no change. */
  #position: P | undefined;
  #marked: P | undefined;
  #transaction: string | bigint | undefined;
  /** Records of the open transaction: all, those in earlier pages, and those to leave out. */
  #open = 0;
  #given = 0;
  #repeated: { readonly transaction: string | bigint; readonly count: number } | undefined;

  constructor(options: TransactionPagesOptions<P>) {
    this.#options = options;
    this.#position = options.from;
    this.#marked = options.marked;
  }

  /** Where a reader has to go on after everything that is complete. */
  get position(): P | undefined {
    return this.#position;
  }

  get isOpen(): boolean {
    return this.#transaction !== undefined;
  }

  /** Whether records of the open transaction are in pages. */
  get hasGivenOfOpen(): boolean {
    return this.isOpen && this.#given > 0;
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
    return isBehind(this.#options.log, this.#marked, this.#position);
  }

  /** `transaction` tells it from others, whenever it is read. */
  begin(transaction: string | bigint): void {
    if (this.#transaction !== undefined) throw disorder('a transaction begins within another one');
    this.#transaction = transaction;
    this.#open = 0;
    this.#given = 0;
  }

  add(record: JsonObject, size: number, schema: RecordSchema): void {
    if (this.#transaction === undefined) throw disorder('a change comes outside of a transaction');
    const { bounds, longest = Infinity } = this.#options;
    this.#open += 1;
    if (this.#open > longest) throw tooLong(longest);
    if (this.#isRepeated(this.#transaction)) {
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

  commit(end: P): void {
    if (this.#transaction === undefined) throw disorder('a transaction ends that has not begun');
    this.#transaction = undefined;
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
  pass(position: P): void {
    if (this.#transaction !== undefined) return;
    if (isBehind(this.#options.log, this.#position, position)) this.#position = position;
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
    if (this.#transaction === undefined) return;
    const dropped = this.#records.length - this.#whole;
    this.#records.length = this.#whole;
    this.#bytes -= this.#sizes.splice(this.#whole).reduce((sum, size) => sum + size, 0);
    this.#schemas.length = this.#whole;
    this.count -= dropped;
    this.#repeated = { transaction: this.#transaction, count: this.#given };
    this.#transaction = undefined;
  }

  #isRepeated(transaction: string | bigint): boolean {
    return this.#repeated?.transaction === transaction && this.#open <= this.#repeated.count;
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
    this.#bytes -= bytes;
    this.#whole = Math.max(0, this.#whole - count);
    const { log, marks } = this.#options;
    const [schema = log.schema, ...others] = new Set(this.#schemas.splice(0, count));
    const position = isMarked && marks ? this.#position : undefined;
    this.ready.push(
      Page.ofRecords(records, {
        bytes,
        // Of the rows of several tables in one page nothing is known.
        schema: others.length === 0 ? schema : log.schema,
        ...(position === undefined ? {} : { bookmark: log.bookmarkOf(position) }),
      }),
    );
    if (position !== undefined) this.#marked = position;
    else if (this.#transaction !== undefined) this.#given += count;
  }
}

function isBehind<P>(log: ChangeLog<P>, one: P | undefined, other: P | undefined): boolean {
  return other !== undefined && (one === undefined || log.isAfter(other, one));
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
