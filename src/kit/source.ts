import type { ZodType } from 'zod';
import type { JsonObject, JsonValue } from '../lib/json.ts';
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
   * A bookmark must stand exactly between the records that were read and those that were not; a page after which there is no such
   * place carries none. Asked of `positional` sources when pages and bookmarks are committed together.
   */
  readonly exact?: boolean;
}

/**
 * An open source. Contract: `pages` yields pages in order, each with the bookmark of where it stood *after* it
 * (or none); it holds at most a few pages in memory; it stops within a second when `context.signal` fires,
 * by returning or by throwing the signal's reason; a failure is a `ConnectorError`. `close` never throws.
 */
export interface Source {
  pages(request: ReadRequest): AsyncIterable<Page>;
  /** Called after the bookmark is stored; for sources that must acknowledge upstream. */
  acknowledge?(bookmark: JsonValue): Promise<void>;
  close(): Promise<void>;
}

export interface SourceCapabilities {
  /**
   * `positional`: reading on from a bookmark gives every record after it and none before it (change logs, log brokers, results in the
   * order of a column that only grows).
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

// The config type is erased where definitions stand in lists: `any` here is what makes one list of them possible.
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
  /** Config keys in which tokens of records and of fan-out values are left for the source to bind (`query`), so that values never become SQL text. */
  readonly boundKeys?: readonly string[];
  /** Of `${bookmark}`, `${job_id}` and `${window}` those it fills in itself, in its config; the others are refused there. */
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
  discover?(config: C, context: SourceContext): Promise<Discovered[]>;
}

export function defineSource<C>(definition: Omit<SourceDefinition<C>, 'role'>): SourceDefinition<C> {
  return Object.freeze({ role: 'source' as const, ...definition });
}
