import type { ZodType } from 'zod';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { SourceContext } from './context.ts';
import type { Lane, Page } from './page.ts';
import type { ProbeFinding } from './probe.ts';

export interface ReadRequest {
  /** Where the last successful run stood; the source ignores its configured start then. */
  readonly bookmark?: JsonValue;
  readonly lane: Lane;
  /**
   * Nobody will look at more records than this; a source may stop once it has given as many. A
   * bookmark never stands beyond the records that were given.
   */
  readonly limit?: number;
  /**
   * A bookmark must stand exactly between the records that were read and those that were not; a
   * page after which there is no such place carries none. Asked of `positional` sources when pages
   * and bookmarks are committed together.
   */
  readonly exact?: boolean;
}

/**
 * An open source. Contract:
 *
 * - Nothing is read before somebody asks for the first page. `pages` is called once.
 * - Pages come in order. A page holds at most `batch_size` records and about `context.pageBytes`
 *   bytes, but at least one record. Nobody writes to it after it was handed over, until it is
 *   released.
 * - A bookmark says where the source stands after its page. It is plain JSON. Reading on from any
 *   bookmark, the first or the last, gives exactly the records after that page, in their order.
 * - The lane never decides a value: records, bytes and columns hold the same records, with the same
 *   types and the same order of fields.
 * - It stops within a second when `context.signal` fires, by ending or by throwing the reason of the
 *   signal, and gives at most one more page.
 * - A failure is a `ConnectorError`. `close` never throws and may be called more than once, before
 *   the first page too.
 *
 * `test/conformance/source.ts` holds every registered source to this.
 */
export interface Source {
  pages(request: ReadRequest): AsyncIterable<Page>;
  /**
   * Called after a bookmark of this read is stored and everything before it is durable: the other
   * side may forget what came up to there, and nothing else. Bookmarks come in their order, some
   * may be left out, and one may come twice.
   */
  acknowledge?(bookmark: JsonValue): Promise<void>;
  /**
   * Tells the other side that its reader is alive. Called every `heartbeatMs` from the first page
   * on, also while a page is being written or waited for. It moves no position; a failure ends the
   * run.
   */
  heartbeat?(): Promise<void>;
  /** How far the pages given so far are behind; asked often, so it must not wait for anything. */
  lag?(): SourceLag | undefined;
  close(): Promise<void>;
}

/** What the other side holds that no page has brought yet. */
export interface SourceLag {
  readonly records?: number;
  /** Age of the oldest of these records; 0 when there are none. */
  readonly seconds?: number;
}

/**
 * A source that waits for new records when it has given all there are. It ends when it is stopped,
 * or when its config says so (after a silence, after so many records).
 */
export interface Unbounded {
  /**
   * Who remembers what was moved. `bookmark`: a later read goes on after the bookmark it is given.
   * `upstream`: the other side delivers again what was not acknowledged, whatever bookmark the
   * read is given; bookmarks only name what is acknowledged.
   */
  readonly redelivery: 'bookmark' | 'upstream';
  /**
   * A record waits no longer than this in the source for others to fill its page, and no longer
   * than this in the sink for a bookmark while nothing else comes.
   */
  readonly idleFlushMs: number;
  /** How often `heartbeat` is called. */
  readonly heartbeatMs?: number;
}

export interface SourceCapabilities {
  /**
   * `positional`: reading on from a bookmark gives every record after it and none before it (change
   * logs, log brokers, results in the order of a column that only grows).
   */
  readonly replay: 'none' | 'positional';
  /** Whether pages carry bookmarks, judged on the live config. */
  readonly bookmarks: boolean;
  /** Encodings in which it can hand over blocks; empty means records only. */
  readonly encodings: readonly string[];
  /** Why the live config leaves it with fewer of them than it has otherwise; told by the plan. */
  readonly recordsBecause?: string;
  /** Whether it can hand over pages as columns. */
  readonly columns?: boolean;
  /** Set when it waits for records instead of ending. Every page with records has a bookmark then, sooner or later. */
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
 * What the values of a column have in common, whatever single ones look like: `numbers` (a text
 * spells one, booleans are 0 and 1), `texts` (a number or boolean went in as its text), `cells`
 * (the same, and the empty text is no value), `json` (texts are read as the JSON they spell),
 * `documents` (those that spell an object or a list), `padded` (blanks at the end do not count),
 * `uuids` and `booleans` (in whatever way they are spelled).
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
  /** Absent when values are what they are. */
  readonly holds?: ColumnHolds;
  /** The type as the source calls it. */
  readonly type: string;
}

export interface ResultShape {
  readonly columns: readonly ResultColumn[];
  /** Of columns that are not listed. */
  readonly others?: ColumnHolds;
}

/**
 * Values of an integer column from `from` up to, but not with, `to`; without a bound all on that
 * side.
 */
export interface KeySpan {
  readonly from?: bigint;
  readonly to?: bigint;
  /** Whether records without a value belong to it. */
  readonly nulls: boolean;
}

/**
 * What is digested of the records inside `spans`: one digest for each stretch between two of
 * `cuts`, which grow.
 */
export interface DigestRequest {
  readonly key: string;
  readonly cuts: readonly bigint[];
  readonly spans: readonly KeySpan[];
  /** Names of the columns that count. */
  readonly columns: readonly string[];
  readonly shape: ResultShape;
}

/**
 * A source whose result can be asked for in parts. Each function gives the config of the same
 * source with another query, so that parts are read like everything else.
 */
export interface Slices<C> {
  /**
   * Its one record: `low` and `high`, and in `strange` how many values of the column are no
   * integers; nulls do not count.
   */
  bounds(config: C, key: string): C;
  within(config: C, key: string, spans: readonly KeySpan[]): C;
  readonly digests?: {
    /**
     * Results whose texts are equal compute their digests in the same way. Equal digests mean equal
     * records; unequal ones need not mean anything.
     */
    algorithm(shape: ResultShape, columns: readonly string[]): string;
    /**
     * Records `{part, rows, low, high, digest}`: the number of cuts at or below the keys (null for
     * keys without a value), how many there are, between which keys, and a text that tells their
     * content in any order.
     */
    config(config: C, request: DigestRequest): C;
  };
}

// The config type is erased where definitions stand in lists: `any` makes one list of them possible.
// oxlint-disable-next-line typescript/no-explicit-any
export interface SourceDefinition<C = any> {
  readonly role: 'source';
  /** The one name documents use. */
  readonly type: string;
  /** Names of the specification's vendor classes and other accepted spellings. */
  readonly aliases?: readonly string[];
  /** One line for catalogues. */
  readonly description: string;
  /** A strict schema; defaults filled in; every field described. */
  readonly config: ZodType<C>;
  /** Config keys that the `concurrency` of a submission overrides. */
  readonly concurrencyKeys?: readonly string[];
  /**
   * Config keys in which tokens of records and of fan-out values are left for the source to bind
   * (`query`), so that values never become SQL text.
   */
  readonly boundKeys?: readonly string[];
  /**
   * Of `${bookmark}`, `${job_id}` and `${window}` those it fills in itself, in its config; the
   * others are refused there.
   */
  readonly ownTokens?: readonly string[];
  /** Documents' `config` objects that must parse; they are run as tests and printed in the docs. */
  readonly examples: readonly JsonObject[];
  capabilities(config: C): SourceCapabilities;
  /** Canonical address without credentials. */
  datasetUri(config: C): string;
  /** The one local file it reads, when it reads one: no row may write the file it reads. */
  localPath?(config: C): string | undefined;
  open(config: C, context: SourceContext): Promise<Source>;
  /** Without one, the doctor reads the first page (probe `read`). */
  probe?(config: C, context: SourceContext): Promise<ProbeFinding[]>;
  /** What the result is made of, without reading it; for sources whose columns have types. */
  describe?(config: C, context: SourceContext): Promise<ResultShape>;
  readonly slices?: Slices<C>;
  discover?(config: C, context: SourceContext): Promise<Discovered[]>;
}

export function defineSource<C>(
  definition: Omit<SourceDefinition<C>, 'role'>,
): SourceDefinition<C> {
  return Object.freeze({ role: 'source' as const, ...definition });
}
