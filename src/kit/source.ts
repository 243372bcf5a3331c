import type { ZodType } from 'zod';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { SourceContext } from './context.ts';
import type { Lane, Page } from './page.ts';
import type { ProbeFinding } from './probe.ts';

export interface ReadRequest {
  /** Where the last successful run stood; the source ignores its configured start then. */
  readonly bookmark?: JsonValue;
  readonly lane: Lane;
  /** Nobody will look at more records than this; a source may stop early. */
  readonly limit?: number;
  /**
   * A bookmark must stand exactly between the records that were read and those that were not; a
   * page after which there is no such place carries none. Asked of `positional` sources when pages
   * and bookmarks are committed together.
   */
  readonly exact?: boolean;
}

/**
 * An open source. Contract: `pages` yields pages in order, each with the bookmark of where it stood
 * *after* it (or none); it holds at most a few pages in memory; it stops within a second when
 * `context.signal` fires, by returning or by throwing the signal's reason; a failure is a
 * `ConnectorError`. `close` never throws.
 */
export interface Source {
  pages(request: ReadRequest): AsyncIterable<Page>;
  /** Called after the bookmark is stored; for sources that must acknowledge upstream. */
  acknowledge?(bookmark: JsonValue): Promise<void>;
  close(): Promise<void>;
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
