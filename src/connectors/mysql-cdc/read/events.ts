/** Events of the binary log, as the server sends them. Those of rows are read in `rows.ts`. */
import { crc32 } from 'node:zlib';
import { ConnectorError } from '../../../lib/errors.ts';
import { ByteReader } from './byte-reader.ts';
import { inflated } from './compressed.ts';
import { mariadbGtid, mysqlGtid, type Gtid } from './gtid-set.ts';

const TYPE = {
  query: 2,
  rotate: 4,
  executeLoadQuery: 18,
  formatDescription: 15,
  xid: 16,
  tableMap: 19,
  incident: 26,
  gtid: 33,
  anonymousGtid: 34,
  xaPrepare: 38,
  partialUpdate: 39,
  transactionPayload: 40,
  taggedGtid: 42,
  mariadbGtid: 162,
  queryCompressed: 165,
} as const;

type RowsOperation = 'insert' | 'update' | 'delete';

/** Numbers of the events of rows: two versions, and those that MariaDB compresses. */
const ROWS: Readonly<Record<number, RowsKind>> = {
  23: { operation: 'insert', version: 1, isCompressed: false },
  24: { operation: 'update', version: 1, isCompressed: false },
  25: { operation: 'delete', version: 1, isCompressed: false },
  30: { operation: 'insert', version: 2, isCompressed: false },
  31: { operation: 'update', version: 2, isCompressed: false },
  32: { operation: 'delete', version: 2, isCompressed: false },
  166: { operation: 'insert', version: 1, isCompressed: true },
  167: { operation: 'update', version: 1, isCompressed: true },
  168: { operation: 'delete', version: 1, isCompressed: true },
  169: { operation: 'insert', version: 2, isCompressed: true },
  170: { operation: 'update', version: 2, isCompressed: true },
  171: { operation: 'delete', version: 2, isCompressed: true },
};

export interface RowsKind {
  readonly operation: RowsOperation;
  readonly version: 1 | 2;
  readonly isCompressed: boolean;
}

/**
 * Without meaning for changes: remarks, seeds of random numbers, lists of what was logged before,
 * heartbeats, keys of encryption (the server sends plain events).
 */
const PASSED: ReadonlySet<number> = new Set([
  3, 5, 13, 14, 17, 27, 28, 29, 35, 36, 37, 41, 160, 161, 163, 164,
]);

const IGNORABLE = 0x80;
/** Made for this reader; it stands in no file. */
const ARTIFICIAL = 0x20;
export const HEADER = 19;
const CHECKSUM = 4;
const VERSION_TEXT = 50;

export interface EventHeader {
  readonly timeMs: number;
  /** Where the next event begins; 0 for an event that stands in no file. */
  readonly end: number;
  readonly size: number;
}

export type LogEvent = EventHeader &
  (
    | {
        readonly kind: 'begin';
        readonly gtid: Gtid | undefined;
        /** Whether it says how the group ends; MySQL only tells with the next event. */
        readonly group: 'one_statement' | 'until_commit' | 'unknown';
      }
    | { readonly kind: 'query'; readonly schema: string; readonly sql: string }
    | { readonly kind: 'commit' }
    | { readonly kind: 'prepare'; readonly isCommit: boolean }
    | { readonly kind: 'table'; readonly body: Buffer }
    | { readonly kind: 'rows'; readonly rows: RowsKind; readonly body: Buffer }
    | { readonly kind: 'rotate'; readonly file: string; readonly pos: number }
    | { readonly kind: 'start_of_file' }
    | { readonly kind: 'passed' }
  );

export class EventReader {
  #hasChecksums = false;
  #isMariadb = false;

  /** Which of the two systems wrote the file. */
  get isMariadb(): boolean {
    return this.#isMariadb;
  }

  /** `bytes` is an event with its header. */
  read(bytes: Buffer): LogEvent {
    const type = bytes.readUInt8(4);
    const size = bytes.readUInt32LE(9);
    const flags = bytes.readUInt16LE(17);
    const header: EventHeader = {
      timeMs: bytes.readUInt32LE(0) * 1000,
      end: (flags & ARTIFICIAL) === 0 ? bytes.readUInt32LE(13) : 0,
      size,
    };
    if (type === TYPE.formatDescription) return this.#learnFormat(header, bytes);
    return { ...header, ...contentOf(type, this.#bodyOf(type, bytes), flags) };
  }

  #learnFormat(header: EventHeader, bytes: Buffer): LogEvent {
    const version = bytes.readUInt16LE(HEADER);
    const headerLength = bytes.readUInt8(HEADER + 2 + VERSION_TEXT + 4);
    if (version !== 4 || headerLength !== HEADER)
      throw unreadable(`the log has the format ${version} with headers of ${headerLength} bytes`);
    this.#isMariadb = /mariadb/i.test(
      bytes.toString('latin1', HEADER + 2, HEADER + 2 + VERSION_TEXT),
    );
    this.#hasChecksums = bytes.readUInt8(bytes.length - CHECKSUM - 1) === 1;
    return { ...header, kind: 'start_of_file' };
  }

  #bodyOf(type: number, bytes: Buffer): Buffer {
    const end = bytes.length - CHECKSUM;
    // Before the format is known, the first event names the file; it may have a checksum.
    if (type === TYPE.rotate && !this.#hasChecksums)
      return bytes.subarray(HEADER, hasValidSum(bytes, end) ? end : bytes.length);
    if (!this.#hasChecksums) return bytes.subarray(HEADER);
    if (!hasValidSum(bytes, end))
      throw new ConnectorError('data', 'an event of the log has a wrong checksum', {
        hint: 'look at the log files of the server (`mysqlbinlog --verify-binlog-checksum`)',
      });
    return bytes.subarray(HEADER, end);
  }
}

function hasValidSum(bytes: Buffer, end: number): boolean {
  return end > HEADER && crc32(bytes.subarray(0, end)) === bytes.readUInt32LE(end);
}

function contentOf(type: number, body: Buffer, flags: number) {
  const rows = ROWS[type];
  if (rows !== undefined) return { kind: 'rows', rows, body } as const;
  switch (type) {
    case TYPE.tableMap:
      return { kind: 'table', body } as const;
    case TYPE.query:
    case TYPE.queryCompressed:
      return queryOf(body, { isCompressed: type === TYPE.queryCompressed });
    case TYPE.xid:
      return { kind: 'commit' } as const;
    case TYPE.mariadbGtid:
      return mariadbBegin(body);
    case TYPE.gtid:
      return { kind: 'begin', gtid: mysqlGtid(body), group: 'unknown' } as const;
    case TYPE.anonymousGtid:
    case TYPE.taggedGtid:
      return { kind: 'begin', gtid: undefined, group: 'unknown' } as const;
    case TYPE.xaPrepare:
      return { kind: 'prepare', isCommit: body.readUInt8(0) !== 0 } as const;
    case TYPE.rotate:
      return {
        kind: 'rotate',
        pos: Number(body.readBigUInt64LE(0)),
        file: body.toString('utf8', 8),
      } as const;
    case TYPE.executeLoadQuery:
      return queryOf(body, { isCompressed: false, more: LOAD_HEADER });
    default:
      return otherEvent(type, flags);
  }
}

function otherEvent(type: number, flags: number) {
  if (type === TYPE.incident)
    throw new ConnectorError('data', 'the server lost changes before they came into its log', {
      hint: 'remove the bookmark, and load the tables anew; the error log of the server says what happened',
    });
  if (type === TYPE.transactionPayload)
    throw new ConnectorError('refused', 'the log has transactions that MySQL compressed', {
      hint: 'SET GLOBAL binlog_transaction_compression = OFF, remove the bookmark, and load the tables anew',
    });
  if (type === TYPE.partialUpdate)
    throw new ConnectorError('refused', 'the log has only parts of JSON values', {
      hint: "SET GLOBAL binlog_row_value_options = '', remove the bookmark, and load the tables anew",
    });
  if (PASSED.has(type) || (flags & IGNORABLE) !== 0) return { kind: 'passed' } as const;
  throw unreadable(`the log has an event of the type ${type}, which is not known`);
}

const STANDALONE = 1;

function mariadbBegin(body: Buffer) {
  const isOne = (body.readUInt8(12) & STANDALONE) !== 0;
  const group = isOne ? 'one_statement' : 'until_commit';
  return { kind: 'begin', gtid: mariadbGtid(body), group } as const;
}

/** Which file was loaded, and where its name stands in the text. */
const LOAD_HEADER = 13;

function queryOf(
  body: Buffer,
  { isCompressed, more = 0 }: { readonly isCompressed: boolean; readonly more?: number },
) {
  const from = new ByteReader(body);
  from.skip(8);
  const schemaLength = from.uint(1);
  from.skip(2);
  const variables = from.uint(2);
  from.skip(more + variables);
  const schema = from.text(schemaLength);
  from.skip(1);
  const rest = from.rest();
  const sql = (isCompressed ? inflated(rest) : rest).toString('utf8');
  return { kind: 'query', schema, sql } as const;
}

export function unreadable(what: string, cause?: unknown): ConnectorError {
  return new ConnectorError('data', `the binary log cannot be read: ${what}`, {
    ...(cause === undefined ? {} : { cause }),
    hint: 'tell us the version of the server; `mysqlbinlog` shows the events of a file',
  });
}
