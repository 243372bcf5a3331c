/**
 * The changes of one capture instance in a range of the log, in their order. A result that broke
 * off, or that was ended to free its connection, is read on behind the last row that came.
 */
import { encodedSize } from '../../../kit/rough-size.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { Link, Running } from '../../_mssql/connection.ts';
import { numberOf } from '../../_mssql/errors.ts';
import { bracketed } from '../../_mssql/quote.ts';
import type { Links } from '../links.ts';
import { lost, type Instance } from '../server.ts';
import { before, bytesOf, NO_LSN, type Lsn } from './lsn.ts';
import { ChangeRecords, changeOf, type Change } from './records.ts';

/** What the change functions say of a range that is not all there. */
const OUT_OF_RANGE = 313;
/** Rows of a part, where a connection has to be shared. */
const MOST_SHARED = 10_000;

export interface Told {
  readonly change: Change;
  readonly record: JsonObject;
  readonly size: number;
  readonly schema: RecordSchema;
}

export interface InstanceChangesOptions {
  readonly instance: Instance;
  readonly links: Links;
  /** Whether a result may keep its connection until its end. */
  readonly keeps: boolean;
  /** Bytes that may wait here. */
  readonly bound: number;
}

interface Result {
  readonly link: Link;
  readonly rows: Running;
  readonly records: ChangeRecords;
}

export class InstanceChanges {
  readonly #options: InstanceChangesOptions;
  #result: Result | undefined;
  #waiting: Told[] = [];
  #at = 0;
  #to: Lsn = NO_LSN;
  /** The next row is the first one here that is not among `#skip` of the same place. */
  #from: Lsn = NO_LSN;
  #seqval: Lsn = NO_LSN;
  #skip = 0;
  /** How many of these are still to come. */
  #repeated = 0;
  #isOver = true;

  constructor(options: InstanceChangesOptions) {
    this.#options = options;
  }

  /** Begins with a range; both ends belong to it. */
  begin(from: Lsn, to: Lsn): void {
    [this.#from, this.#to] = [from, to];
    [this.#seqval, this.#skip] = [NO_LSN, 0];
    this.#isOver = from > to;
  }

  /** The next change, where it is here already. */
  get head(): Told | undefined {
    return this.#waiting[this.#at];
  }

  /** Whether `fill` has to be called for the next change. */
  get isEmpty(): boolean {
    return this.head === undefined && !this.#isOver;
  }

  take(): void {
    this.#at += 1;
    if (this.head !== undefined) return;
    this.#waiting = [];
    this.#at = 0;
  }

  /** Reads until there is a change or the range is over. After a failure it can be called again. */
  async fill(): Promise<void> {
    const { keeps, bound, links } = this.#options;
    let bytes = 0;
    try {
      const result = (this.#result ??= await this.#start());
      for (;;) {
        const rows = await links.until(result.link, result.rows.next());
        if (rows === undefined) this.#isOver = true;
        for (const cells of rows ?? []) bytes += this.#add(changeOf(cells), result.records);
        const isPart = bytes >= bound || this.#waiting.length >= MOST_SHARED;
        if (this.#isOver || (keeps ? !this.isEmpty : isPart)) break;
      }
      if (this.#isOver || !keeps) await this.#end(true);
    } catch (error) {
      await this.#end(false);
      if (numberOf(error) === OUT_OF_RANGE)
        throw lost(this.#options.instance.name, before(this.#from));
      throw links.failure(error, 'the changes cannot be read');
    }
  }

  /** The size of what waits for its page. */
  #add(change: Change, records: ChangeRecords): number {
    const isSame = change.lsn === this.#from && change.seqval === this.#seqval;
    // Rows of this place that came before the result broke off.
    if (isSame && this.#repeated > 0) {
      this.#repeated -= 1;
      return 0;
    }
    this.#repeated = 0;
    this.#skip = isSame ? this.#skip + 1 : 1;
    [this.#from, this.#seqval] = [change.lsn, change.seqval];
    const record = records.record(change);
    if (record === undefined) return 0;
    const size = encodedSize(record);
    this.#waiting.push({ change, record, size, schema: records.schema });
    return size;
  }

  async #start(): Promise<Result> {
    const { instance, links } = this.#options;
    const link = await links.take();
    this.#repeated = this.#skip;
    try {
      const rows = link.start(statement(instance.name), [
        { name: 'from', type: 'bytes', value: bytesOf(this.#from) },
        { name: 'to', type: 'bytes', value: bytesOf(this.#to) },
        { name: 'seqval', type: 'bytes', value: bytesOf(this.#seqval) },
      ]);
      const columns = await links.until(link, rows.columns);
      return { link, rows, records: new ChangeRecords(instance, columns) };
    } catch (error) {
      links.giveBack(link, false);
      throw error;
    }
  }

  /** `isWell`: the connection can be used again, when a statement that goes on has been ended. */
  async #end(isWell: boolean): Promise<void> {
    const result = this.#result;
    this.#result = undefined;
    if (result === undefined) return;
    // What the client had received by then belongs to nobody: it comes again.
    if (isWell && !this.#isOver) await result.link.cancel();
    this.#options.links.giveBack(result.link, isWell);
  }
}

function statement(name: string): string {
  const changes = `cdc.${bracketed(`fn_cdc_get_all_changes_${name}`)}`;
  return `SELECT c.* FROM ${changes}(CAST(@from AS binary(10)), CAST(@to AS binary(10)), N'all') AS c
    WHERE c.[__$start_lsn] > CAST(@from AS binary(10)) OR c.[__$seqval] >= CAST(@seqval AS binary(10))
    ORDER BY c.[__$start_lsn], c.[__$seqval], c.[__$operation]`;
}
