/** Rows of delimited text that cannot be read, and where the others begin. */
import { isUtf8 } from 'node:buffer';
import { unreadText, type RecordPlace, type RejectedRecord } from '../../../kit/rejected-record.ts';
import type { PageOptions } from '../../../kit/page.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { CsvScanner, Stretch } from './csv-rows.ts';

export interface UnreadRow {
  readonly stretch: Stretch;
  /** Where its text begins and ends in the stretch. */
  readonly from: number;
  readonly to: number;
  readonly line: number;
}

interface RejectedText {
  readonly name: string;
  /** Of the file, where its text was converted. */
  readonly encoding?: string | undefined;
}

/** Those of the current page. */
export class RejectedRows {
  readonly #name: string;
  /** Whether the bytes are those of the file. */
  readonly #isAsStored: boolean;
  /** Where the stream begins in the file. */
  readonly #first: number | undefined;
  #rejected: RejectedRecord[] = [];
  #places: RecordPlace[] = [];

  constructor({ name, encoding }: RejectedText, first: number | undefined) {
    this.#name = name;
    this.#isAsStored = encoding === undefined;
    this.#first = first;
  }

  get count(): number {
    return this.#rejected.length;
  }

  /** Whether `read` accepts the row; otherwise it is rejected. */
  accepts(read: () => void, row: UnreadRow, index: number): boolean {
    try {
      read();
      return true;
    } catch (error) {
      if (!(error instanceof ConnectorError) || error.kind !== 'data') throw error;
      this.add(error.message, row, index);
      return false;
    }
  }

  add(message: string, { stretch, from, to, line }: UnreadRow, index: number): void {
    const bytes = stretch.bytes.subarray(from, to);
    const at = this.#placeOf(stretch, from, line);
    const text = unreadText(bytes, !this.#isAsStored || isUtf8(bytes));
    this.#rejected.push({ message, ...text, input: this.#name, at, index });
  }

  /** Notes where a record begins that was read. */
  note({ stretch, from, line }: Omit<UnreadRow, 'to'>): void {
    this.#places.push(this.#placeOf(stretch, from, line));
  }

  take(): Pick<PageOptions, 'rejected' | 'places'> {
    const taken = { rejected: this.#rejected, places: this.#places };
    this.#rejected = [];
    this.#places = [];
    return taken;
  }

  #placeOf({ offset }: Stretch, from: number, line: number): RecordPlace {
    return this.#first === undefined ? { line } : { line, byte: this.#first + offset + from };
  }
}

export function rowAt(stretch: Stretch, scanner: CsvScanner, row: number): UnreadRow {
  const { rowStarts, rowLines } = scanner;
  const from = rowStarts[row] ?? 0;
  return { stretch, from, to: rowStarts[row + 1] ?? from, line: rowLines[row] ?? 0 };
}
