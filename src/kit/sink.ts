import type { ZodType } from 'zod';
import type { RecordError } from '../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import type { WrittenFile } from '../lib/files/written-file.ts';
import type { SinkContext } from './context.ts';
import type { Page } from './page.ts';
import type { ProbeFinding } from './probe.ts';
import type { SinkRollback } from './rollback.ts';

export type WriteMode = 'append' | 'upsert' | 'delete' | 'overwrite';

/** One record the sink would not take; the rest of the page was written. */
export interface Rejection {
  /** Index in the page. */
  readonly index: number;
  readonly error: RecordError;
}

export interface WriteResult {
  /** Records taken: written, or folded into a later one with the same key, or deleted as asked. */
  readonly written: number;
  /** Records the sink leaves out by a rule of its own, such as a record without a known column. */
  readonly skipped?: number;
  readonly rejected: readonly Rejection[];
}

export interface WriteOptions {
  /**
   * Reject single bad records instead of failing the page; only set when a dead-letter queue will
   * take them.
   */
  readonly partial: boolean;
}

/** How a row ended; handed to `finish`. A row that was stopped is `cancelled`. */
export type FinishReason = 'success' | 'failed' | 'cancelled';

/**
 * An open sink. Contract, which `test/conformance/sink-clauses` checks for every registered sink:
 *
 * - `write` takes a page, or rejects records one by one where `partial` asks for it, and throws only
 *   when the page failed as a whole (`ConnectorError`). What a failed page may leave behind is said
 *   by `capabilities.atomicity`.
 * - After `flush` everything taken so far can be read by others and survives a crash of the process,
 *   unless the capabilities say `flushDurable: false`.
 * - `finish` is called once, after the last flush. On `success` it makes the output complete. On
 *   `failed` and `cancelled` an overwrite leaves the destination as it was; every other mode keeps
 *   what was flushed, and where a flush is not durable either all that was taken or nothing of it.
 * - `close` releases everything, never throws, and may be called again. A `write` after it fails and
 *   changes nothing.
 */
export interface Sink {
  write(page: Page, options: WriteOptions): Promise<WriteResult>;
  flush(): Promise<void>;
  finish(reason: FinishReason): Promise<void>;
  close(): Promise<void>;
  /** Present when `capabilities.token` is true. */
  readonly tokens?: TokenWriter;
  /** Present when `capabilities.schema` is not `none`. */
  readonly schema?: SchemaAccess;
  /**
   * Files of this machine that it has written, for the ledger of outputs; called after `finish`.
   * Present where `localPath` is declared or the address of the data set is a file.
   */
  outputs?(): readonly WrittenFile[];
  /**
   * Present when `capabilities.sweep` is true. Removes the rows that vanished at the source, all at
   * once or none, and gives their number; called after the last flush. Where there is no table yet
   * there is nothing to remove.
   */
  sweep?(sweep: Sweep): Promise<number>;
  /** Present when `capabilities.rollback` is true. */
  readonly rollback?: SinkRollback;
}

/** What a complete read has seen. */
export interface Sweep {
  /**
   * Destination columns, each with the value that the rows of the read have there: rows elsewhere
   * are not touched.
   */
  readonly scope: JsonObject;
  /** Keys that were seen, their values in the order of the sink's `key`. */
  readonly keys: readonly (readonly JsonValue[])[];
}

/** Commits a page and a watermark in one atomic unit. */
export interface TokenWriter {
  last(scope: string): Promise<string | undefined>;
  /**
   * Takes a page that is committed together with the next `write`. Without such a `write` it is
   * never committed, not by `flush` and not by `finish`.
   */
  hold(page: Page): Promise<void>;
  /** The result counts the records of held pages too. */
  write(page: Page, scope: string, token: string): Promise<WriteResult>;
}

/** Neutral column types. */
export type ColumnType = 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

export interface DestinationColumn {
  readonly name: string;
  readonly types: readonly ColumnType[];
  readonly nullable: boolean;
}

export interface SchemaChange {
  readonly add: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly widen: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly relaxNull: readonly string[];
}

export interface SchemaAccess {
  /** The live columns; `undefined` when the destination does not exist yet or has no schema. */
  current(): Promise<readonly DestinationColumn[] | undefined>;
  /** Present when `capabilities.schema` is `evolve`. */
  evolve?(change: SchemaChange): Promise<void>;
}

export interface SinkCapabilities {
  readonly writeModes: readonly WriteMode[];
  /** The mode the live config asks for. */
  readonly writeMode: WriteMode;
  /** The part of the destination that an overwrite replaces; absent when that is all of it. */
  readonly overwrites?: string;
  /** Key columns of the live config; empty when not keyed. */
  readonly key: readonly string[];
  /** What may have landed when a page failed as a whole. */
  readonly atomicity: 'per_row' | 'atomic' | 'best_effort';
  /** Whether `write` can reject single records. */
  readonly perRow: boolean;
  /** Whether the atomic watermark path is possible. */
  readonly token: boolean;
  readonly schema: 'none' | 'read' | 'evolve';
  /**
   * False when only `finish` makes the output durable (one Parquet file): bookmarks then wait for
   * the end.
   */
  readonly flushDurable: boolean;
  /** Encodings whose blocks it takes as they are; empty means records only. */
  readonly encodings: readonly string[];
  /** Why the live config takes fewer encodings than the sink can; shown by the plan. */
  readonly recordsBecause?: string;
  /** Whether it can write a page of columns without making its records. */
  readonly columns?: boolean;
  /** Whether it can remove rows that vanished at the source. */
  readonly sweep?: boolean;
  /** Whether a run can be rolled back; a text says why not with the live config. */
  readonly rollback?: true | string;
  /** A repeat of the same page changes nothing (keyed modes). */
  readonly idempotent: boolean;
}

/** The source that reads what a destination holds. */
export interface ReadBack {
  readonly type: string;
  readonly config: JsonObject;
  /**
   * The field in which the record stands as it was written; absent when what is read is the record.
   */
  readonly recordIn?: string;
}

// See SourceDefinition for why the type is erased.
// oxlint-disable-next-line typescript/no-explicit-any
export interface SinkDefinition<C = any> {
  readonly role: 'sink';
  readonly type: string;
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly config: ZodType<C>;
  readonly concurrencyKeys?: readonly string[];
  readonly examples: readonly JsonObject[];
  capabilities(config: C): SinkCapabilities;
  datasetUri(config: C): string;
  /**
   * Where it writes, spelled the same for all configs that name it; absent where the address
   * already is.
   */
  place?(config: C): string;
  /**
   * Local file the sink writes, when it writes one; used by the output ledger and the clash check.
   */
  localPath?(config: C): string | undefined;
  /** `undefined` when records cannot be read as they were written, with this config or at all. */
  readBack?(config: C): ReadBack | undefined;
  /**
   * The config of an empty destination of the same kind inside `folder`, which `readBack` can read.
   * Absent where a folder is not enough (a database server).
   */
  temporary?(config: C, folder: string): C;
  open(config: C, context: SinkContext): Promise<Sink>;
  /** Without one, the doctor reports `check` as skipped. */
  probe?(config: C, context: SinkContext): Promise<ProbeFinding[]>;
}

export function defineSink<C>(definition: Omit<SinkDefinition<C>, 'role'>): SinkDefinition<C> {
  return Object.freeze({ role: 'sink' as const, ...definition });
}

/** The path of its local file, or its address: two sinks of the same write to the same place. */
export function outputOf(definition: SinkDefinition, config: unknown): string {
  return (
    definition.localPath?.(config) ?? definition.place?.(config) ?? definition.datasetUri(config)
  );
}

/** What an overwrite replaces. */
export interface ReplacedOutput {
  readonly output: string;
  /** All of it when absent. */
  readonly part?: string;
}

/**
 * What a sink of this config would replace: its local file, or what an overwrite replaces at its
 * address. None when it adds to it.
 */
export function replacedOutput(
  definition: SinkDefinition,
  config: unknown,
): ReplacedOutput | undefined {
  const output = outputOf(definition, config);
  if (output.startsWith('/dev/')) return undefined;
  const { writeMode, overwrites } = definition.capabilities(config);
  if (writeMode === 'overwrite')
    return overwrites === undefined ? { output } : { output, part: overwrites };
  if (definition.localPath?.(config) === undefined) return undefined;
  const adds = isObject(config) && (config['append'] === true || config['if_exists'] === 'append');
  return adds ? undefined : { output };
}

/** Whether two parts of one output have something in common: the whole has with each. */
export function partsMeet(
  { part }: Pick<ReplacedOutput, 'part'>,
  other: Pick<ReplacedOutput, 'part'>,
): boolean {
  return part === undefined || other.part === undefined || part === other.part;
}

/** For `write`: a call after `close` is a mistake of the caller, and must not open anything again. */
export function requireOpen(isClosed: boolean): void {
  if (isClosed) throw new Error('cannot happen: a page is written to a sink that is closed');
}

/** Capabilities of a sink that only appends records; spread it and change what differs. */
export const APPEND_ONLY: SinkCapabilities = Object.freeze<SinkCapabilities>({
  writeModes: ['append'],
  writeMode: 'append',
  key: [],
  atomicity: 'best_effort',
  perRow: false,
  token: false,
  schema: 'none',
  flushDurable: true,
  encodings: [],
  idempotent: false,
});
