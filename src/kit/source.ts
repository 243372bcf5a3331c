import type { ZodType } from 'zod';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { SourceContext } from './context.ts';
import type { Lane, Page } from './page.ts';
import type { ProbeFinding } from './probe.ts';
import type { RecordField, RecordSchema } from './record-schema.ts';
import type { RejectedRecord } from './rejected-record.ts';

export interface ReadRequest {
  /**
   * The bookmark that the last successful run stored; the source then ignores its configured start.
   */
  readonly bookmark?: JsonValue;
  readonly lane: Lane;
  /**
   * The caller uses at most this many records, so a source may stop once it has given them. A
   * bookmark never points beyond the records that were given.
   */
  readonly limit?: number;
  /**
   * A bookmark must point exactly between the records that were read and those that were not; a
   * page after which there is no such point carries no bookmark. Only set for `positional` sources
   * when pages and bookmarks are committed together.
   */
  readonly exact?: boolean;
  /**
   * The caller takes records that cannot be read (`page.rejected`). Without it such a record ends
   * the read, also where the config says that it is to be put aside.
   */
  readonly rejects?: boolean;
}

/**
 * An open source. Contract:
 *
 * - Nothing is read before the first page is requested. `pages` is called once.
 * - Pages come in order. A page holds at most `batch_size` records and about `context.pageBytes`
 *   bytes, but at least one record. The source does not change a page after handing it over, until
 *   the page is released.
 * - A bookmark is the position of the source after its page, as plain JSON. Reading again from any
 *   bookmark, the first or the last, gives exactly the records after that page, in their order.
 * - The lane does not change values: records, bytes and columns hold the same records, with the
 *   same types and the same order of fields.
 * - A page of a source that knows its fields has a `schema`, the same object for all pages of a
 *   read, and its values have the forms of their types (`record-schema.ts`).
 * - It stops within a second when `context.signal` fires, by ending or by throwing the reason of
 *   the signal, and gives at most one more page.
 * - A failure is a `ConnectorError`. `close` never throws and may be called more than once, before
 *   the first page too.
 *
 * `conformance/source/clauses.ts` tests every registered source against this contract.
 */
export interface Source {
  pages(request: ReadRequest): AsyncIterable<Page>;
  /**
   * Called when a bookmark of this read is stored and everything before it is durable: the other
   * side may now delete data up to this bookmark, but nothing after it. Calls come in the order of
   * the bookmarks; some may be skipped, and one may be repeated.
   */
  acknowledge?(bookmark: JsonValue): Promise<void>;
  /**
   * Tells the other side that its reader is alive. Called every `heartbeatMs` from the first page
   * on, also while the engine writes a page or waits for one. It does not move the position. A
   * failure ends the run.
   */
  heartbeat?(): Promise<void>;
  /**
   * How far the pages given so far are behind the newest data. Called often, so it must not wait.
   */
  lag?(): SourceLag | undefined;
  close(): Promise<void>;
}

/** Data that the other side already has but that was in no page yet. */
export interface SourceLag {
  readonly records?: number;
  /** Age of the oldest of these records; 0 when there are none. */
  readonly seconds?: number;
}

/**
 * A source that waits for new records when it has given all that exist. It ends when it is stopped,
 * or when a limit of its config is reached (no records for some time, a number of records).
 */
export interface Unbounded {
  /**
   * Which side remembers what was moved. `bookmark`: a later read continues after the bookmark it
   * is given. `upstream`: the other side delivers again what was not acknowledged, whatever
   * bookmark the read is given; bookmarks only identify what to acknowledge.
   */
  readonly redelivery: 'bookmark' | 'upstream';
  /**
   * The longest time that a record waits in the source until its page is full, and in the sink
   * until a bookmark is stored when no further record arrives.
   */
  readonly idleFlushMs: number;
  /** How often `heartbeat` is called. */
  readonly heartbeatMs?: number;
}

export interface SourceCapabilities {
  /**
   * `positional`: reading from a bookmark gives every record after it and none before it (change
   * logs, log brokers, results ordered by a column that only increases).
   */
  readonly replay: 'none' | 'positional';
  /** Whether pages carry bookmarks with this config. */
  readonly bookmarks: boolean;
  /** Encodings in which it can give blocks of bytes; empty means records only. */
  readonly encodings: readonly string[];
  /**
   * Why this config allows fewer encodings than the source can give otherwise; shown by the plan.
   */
  readonly recordsBecause?: string;
  /** Encodings that this config forbids, and why; shown by the plan where a sink would take them. */
  readonly without?: { readonly encodings: readonly string[]; readonly why: string };
  /** Whether it can give pages as columns. */
  readonly columns?: boolean;
  /**
   * Set when it waits for records instead of ending. Each page with records is then followed by a
   * bookmark, on the same page or on a later one.
   */
  readonly unbounded?: Unbounded;
}

/** A named data set found by `discover`; `config_patch` is merged over the connection config. */
export interface Discovered {
  readonly name: string;
  readonly kind: string;
  readonly schema?: JsonObject;
  readonly estimated_rows?: number;
  readonly config_patch: JsonObject;
}

/**
 * How the values of a column are to be read, whatever single values look like: `numbers` (text that
 * spells a number; booleans are 0 and 1), `texts` (a number or boolean was stored as text), `cells`
 * (like `texts`, and empty text is null), `json` (texts are parsed as JSON), `documents` (only
 * texts that are an object or a list are parsed), `padded` (blanks at the end do not count),
 * `uuids` and `booleans` (in any spelling).
 */
export type ColumnHolds =
  | 'numbers'
  | 'texts'
  | 'cells'
  | 'json'
  | 'documents'
  | 'padded'
  | 'uuids'
  | 'booleans';

export interface ResultColumn {
  readonly name: string;
  /** The field of the records; absent where the column can hold values of any type. */
  readonly field?: RecordField;
  /** Absent when values are used as they are. */
  readonly holds?: ColumnHolds;
  /** The name of the type at the source. */
  readonly type: string;
  /**
   * What the column makes of the types of its values, where each value has one of its own (SQLite).
   * Columns with the same text store a value alike.
   */
  readonly affinity?: string;
}

export interface ResultShape {
  readonly columns: readonly ResultColumn[];
  /** For columns that are not listed. */
  readonly others?: ColumnHolds;
}

/**
 * Values of an integer column from `from` (inclusive) to `to` (exclusive). Without a bound the
 * range is open on that side.
 */
export interface KeySpan {
  readonly from?: bigint;
  readonly to?: bigint;
  /** Whether records in which the column is null are included. */
  readonly nulls: boolean;
}

/**
 * Computes digests of the records inside `spans`: one digest for each range between two neighbours
 * in `cuts`, which are in ascending order.
 */
export interface DigestRequest {
  readonly key: string;
  readonly cuts: readonly bigint[];
  readonly spans: readonly KeySpan[];
  /** Names of the columns that are part of the digest. */
  readonly columns: readonly string[];
  readonly shape: ResultShape;
}

/**
 * A source whose result can be read in parts. Each function returns the config of the same source
 * with another query, so that a part is read like any other result.
 */
export interface Slices<C> {
  /**
   * Gives one record: `low` and `high`, and in `strange` the number of values that are not
   * integers; nulls are ignored.
   */
  bounds(config: C, key: string): C;
  within(config: C, key: string, spans: readonly KeySpan[]): C;
  readonly digests?: {
    /**
     * Two results with the same text here compute digests in the same way. Equal digests mean equal
     * records; different digests prove nothing.
     */
    algorithm(shape: ResultShape, columns: readonly string[]): string;
    /**
     * Gives records `{part, rows, low, high, digest}`: the number of cuts at or below the keys
     * (null for keys without a value), the number of records, the smallest and the largest key, and
     * a text that depends on their content but not on their order.
     */
    config(config: C, request: DigestRequest): C;
  };
}

/**
 * Positions of a change log for which a table can be read first: whatever was committed before a
 * position is seen by every query that begins after `take` has resolved, and every change since is
 * read behind it.
 */
export interface Anchors<C> {
  /** The present position, as a bookmark. What holds the log for this reader is made if need be. */
  take(config: C, context: SourceContext): Promise<JsonValue>;
  /** Throws when changes behind the bookmark can no longer be read. */
  check(config: C, context: SourceContext, bookmark: JsonValue): Promise<void>;
}

/** What of a valid config is hardly meant so. */
export interface Doubt {
  readonly code: string;
  /** Relative to the config. */
  readonly path: string;
  readonly message: string;
  readonly hint: string;
}

// Lists hold definitions with different config types; only `any` allows that.
// oxlint-disable-next-line typescript/no-explicit-any
export interface SourceDefinition<C = any> {
  readonly role: 'source';
  /** The one name documents use. */
  readonly type: string;
  /** Other accepted names, such as the vendor's names in the specification. */
  readonly aliases?: readonly string[];
  /** One line for catalogues. */
  readonly description: string;
  /** A strict schema that fills in defaults; every field has a description. */
  readonly config: ZodType<C>;
  /** Config keys that the `concurrency` of a submission overrides. */
  readonly concurrencyKeys?: readonly string[];
  /**
   * Config keys in which the tokens of records and fan-out values stay for the source to bind as
   * parameters (`query`), so that values never become SQL text.
   */
  readonly boundKeys?: readonly string[];
  /**
   * Which of `${bookmark}`, `${job_id}`, `${next_token}` and `${window}` it replaces itself in its
   * config; the others are refused there.
   */
  readonly ownTokens?: readonly string[];
  /** Valid `config` objects; they are run as tests and printed in the docs. */
  readonly examples: readonly JsonObject[];
  /** Told as warnings, without contacting anything. */
  doubts?(config: C): readonly Doubt[];
  capabilities(config: C): SourceCapabilities;
  /** Canonical address of the data set, without credentials. */
  datasetUri(config: C): string;
  /**
   * Path of the local file it reads, if there is one: a row must not write the file that it reads.
   */
  localPath?(config: C): string | undefined;
  /**
   * Whether its texts come out of JSON that others write, where half of a character can stand alone.
   * The engine tells of such texts; a source that knows lines tells them itself.
   */
  readonly readsJson?: boolean;
  open(config: C, context: SourceContext): Promise<Source>;
  /** When absent, the doctor reads the first page (probe `read`). */
  probe?(config: C, context: SourceContext): Promise<ProbeFinding[]>;
  /** What its config says of the fields, without contacting anything. */
  declares?(config: C): RecordSchema | undefined;
  /**
   * Whether pages get types that are found in the first records. Then a read shows them, whatever
   * its limit.
   */
  infersTypes?(config: C): boolean;
  /** Whether records that it cannot read go to the dead-letter queue. */
  quarantines?(config: C): boolean;
  /**
   * Reads one of these again, with the config of today. `undefined` when there is still no record;
   * throws `ConnectorError('data', …)` as reading does.
   */
  reread?(config: C, unread: Pick<RejectedRecord, 'payload' | 'input'>): JsonValue | undefined;
  /** The columns of the result, found without reading it; for sources whose columns have types. */
  describe?(config: C, context: SourceContext): Promise<ResultShape>;
  readonly slices?: Slices<C>;
  /**
   * What this config, as it is written, reads many of; `undefined` where there is only one. They can
   * be divided among several invocations: each reads those of its `context.share`, objects and files
   * by their names, segments by their numbers. Partitions are divided by the other side, while they
   * are read: whoever reads less or ends leaves more to the others.
   */
  divides?(config: JsonObject): 'objects' | 'files' | 'segments' | 'partitions' | undefined;
  /** How many can read a share at the most, asked when the row starts; absent: any number. */
  mostShares?(config: C, context: SourceContext): Promise<number>;
  /** What it can do where it reads a share; absent: the same. */
  shareCapabilities?(config: C): SourceCapabilities;
  /** For change logs, so that `replication` can read a table before its changes. */
  readonly anchors?: Anchors<C>;
  discover?(config: C, context: SourceContext): Promise<Discovered[]>;
}

export function capabilitiesOf(
  definition: SourceDefinition,
  config: unknown,
  isShare: boolean,
): SourceCapabilities {
  const ofShare = isShare ? definition.shareCapabilities?.(config) : undefined;
  return ofShare ?? definition.capabilities(config);
}

export function defineSource<C>(
  definition: Omit<SourceDefinition<C>, 'role'>,
): SourceDefinition<C> {
  return Object.freeze({ role: 'source' as const, ...definition });
}
