import type { ZodType } from 'zod';
import type { RecordError } from '../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import type { WrittenFile } from '../lib/files/written-file.ts';
import type { SinkContext } from './context.ts';
import type { Page } from './page.ts';
import type { RecordField } from './record-schema.ts';
import type { ProbeFinding } from './probe.ts';
import type { Doubt } from './source.ts';
import type { SinkRollback } from './rollback.ts';

export type WriteMode = 'append' | 'upsert' | 'delete' | 'overwrite';

/** One record that the sink refused; the rest of the page was written. */
export interface Rejection {
  /** Index in the page. */
  readonly index: number;
  readonly error: RecordError;
}

export interface WriteResult {
  /**
   * Records accepted: written, replaced by a later record with the same key, or deleted as
   * requested.
   */
  readonly written: number;
  /** Records the sink leaves out by a rule of its own, such as a record without a known column. */
  readonly skipped?: number;
  /**
   * Fields that were not written because the destination has no column for them, with the number of
   * records that have them; absent when there are none.
   */
  readonly unknownFields?: ReadonlyMap<string, number>;
  /**
   * Fields whose values the destination does not hold exactly, with the number of such values;
   * absent when there are none.
   */
  readonly roundedFields?: ReadonlyMap<string, number>;
  readonly rejected: readonly Rejection[];
}

export interface WriteOptions {
  /**
   * Reject single bad records instead of failing the page; only set when a dead-letter queue
   * receives them.
   */
  readonly partial: boolean;
}

/** How a row ended. A row that was stopped is `cancelled`. */
export type FinishReason = 'success' | 'failed' | 'cancelled';

/**
 * An open sink. Contract (`conformance/sink/clauses.ts` tests every registered sink against it):
 *
 * - `write` accepts a page, or rejects records one by one where `partial` asks for it, and throws
 *   only when the page failed as a whole (`ConnectorError`). `capabilities.atomicity` says what a
 *   failed page may leave behind.
 * - After `flush` everything accepted so far can be read by others and survives a crash of the
 *   process, unless the capabilities say `flushDurable: false`.
 * - `finish` is called once, after the last flush. On `success` it makes the output complete. On
 *   `failed` and `cancelled` an overwrite leaves the destination as it was; every other mode keeps
 *   what was flushed. Where a flush is not durable, it keeps everything that was accepted or
 *   nothing.
 * - `close` releases everything, never throws, and may be called again. A `write` after it fails
 *   and changes nothing.
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
   * Local files that it has written, for the ledger of outputs; called after `finish`. Present
   * where `localPath` is declared or the address of the data set is a file.
   */
  outputs?(): readonly WrittenFile[];
  /**
   * Whether `finish` threw away everything that was accepted, because the row did not succeed;
   * called after it. Without it everything was kept. An overwrite need not say it: its destination
   * is as it was.
   */
  discarded?(): boolean;
  /**
   * Present when `capabilities.sweep` is true. Removes the rows that no longer exist at the source,
   * all of them or none, and returns their number. Called after the last flush. Without a table
   * there is nothing to remove.
   */
  sweep?(sweep: Sweep): Promise<number>;
  /** Present when `capabilities.rollback` is true. */
  readonly rollback?: SinkRollback;
  /**
   * Present when `capabilities.fenced` is true. Takes the scope for this execution, as `tokens.last`
   * does; nothing is taken where no other server takes the run over. From then on the end of an
   * overwrite, `sweep` and `rollback` fail with `run_taken_over` and change nothing when another
   * execution has taken the scope: they look at it in the transaction of their own change.
   */
  takeScope?(scope: string): Promise<void>;
}

/** The keys found by a complete read of the source. */
export interface Sweep {
  /**
   * Destination columns and the value that all rows of this read have in them; rows with other
   * values are not touched.
   */
  readonly scope: JsonObject;
  /** Keys that were found; the values are in the order of the sink's `key`. */
  readonly keys: readonly (readonly JsonValue[])[];
}

/** Commits a page and a watermark in one atomic unit. */
export interface TokenWriter {
  last(scope: string): Promise<string | undefined>;
  /**
   * Accepts a page that is committed together with the next `write`. Without a following `write` it
   * is never committed, neither by `flush` nor by `finish`.
   */
  hold(page: Page): Promise<void>;
  /** The result counts the records of held pages too. */
  write(page: Page, scope: string, token: string): Promise<WriteResult>;
  /**
   * Removes the token of a scope: the next run of it starts from its state store alone. Durable and
   * visible to others when it returns; a scope without a token stays without one.
   */
  forget(scope: string): Promise<void>;
}

/** Neutral column types. */
export type ColumnType = 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

export interface DestinationColumn {
  readonly name: string;
  readonly types: readonly ColumnType[];
  readonly nullable: boolean;
  /** The destination fills it by itself in a row that has no value for it. */
  readonly hasDefault?: boolean;
}

export interface AddedColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** Present when the type of the field is known. */
  readonly field?: RecordField | undefined;
}

export interface SchemaChange {
  readonly add: readonly AddedColumn[];
  readonly widen: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly relaxNull: readonly string[];
}

export interface SchemaAccess {
  /**
   * The columns that exist now; `undefined` when the destination does not exist yet or has no
   * schema.
   */
  current(): Promise<readonly DestinationColumn[] | undefined>;
  /** Names that differ only in the case of ASCII letters mean the same column. */
  readonly ignoresCase?: boolean;
  /**
   * Present when `capabilities.schema` is `evolve`. `records` are those that need the change; what they
   * were read from may tell more of a new column than its type.
   */
  evolve?(change: SchemaChange, records?: readonly JsonValue[]): Promise<void>;
}

export interface SinkCapabilities {
  readonly writeModes: readonly WriteMode[];
  /** The mode that this config sets. */
  readonly writeMode: WriteMode;
  /** The part of the destination that an overwrite replaces; absent when it replaces everything. */
  readonly overwrites?: string;
  /** Key columns of this config; empty when writing is not keyed. */
  readonly key: readonly string[];
  /** What may have been written when a page failed as a whole. */
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
  /** Encodings whose blocks of bytes it writes unchanged; empty means records only. */
  readonly encodings: readonly string[];
  /** Why this config accepts fewer encodings than the sink can otherwise; shown by the plan. */
  readonly recordsBecause?: string;
  /** Whether it can write a page of columns without making its records. */
  readonly columns?: boolean;
  /** Whether it can remove rows that no longer exist at the source. */
  readonly sweep?: boolean;
  /**
   * Whether the destination itself refuses the end of an overwrite, a sweep and changes of the
   * rollback log to an execution that was taken over.
   */
  readonly fenced?: boolean;
  /** Whether a run can be rolled back; a text is the reason why not with this config. */
  readonly rollback?: true | string;
  /** Writing the same page again changes nothing (keyed modes). */
  readonly idempotent: boolean;
}

/** The source that reads the content of a destination. */
export interface ReadBack {
  readonly type: string;
  readonly config: JsonObject;
  /** The field that holds the record as it was written; absent when the record itself is read. */
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
  /** Told as warnings, without contacting anything. */
  doubts?(config: C): readonly Doubt[];
  capabilities(config: C): SinkCapabilities;
  datasetUri(config: C): string;
  /**
   * Where it writes, with the same text for all configs that mean the same place, such as the
   * pattern of several files; absent where the address is already unique.
   */
  place?(config: C): string;
  /**
   * Path of the local file it writes, if there is one; for the output ledger and the check for
   * conflicting outputs.
   */
  localPath?(config: C): string | undefined;
  /** Whether it writes several local files, and `place` is the pattern of their names. */
  hasParts?(config: C): boolean;
  /** `undefined` when records cannot be read as they were written, with this config or at all. */
  readBack?(config: C): ReadBack | undefined;
  /**
   * The config of a new, empty destination of the same kind inside `folder`, which `readBack` can
   * read. Absent where a folder is not enough (a database server).
   */
  temporary?(config: C, folder: string): C;
  open(config: C, context: SinkContext): Promise<Sink>;
  /** When absent, the doctor reports `check` as skipped. */
  probe?(config: C, context: SinkContext): Promise<ProbeFinding[]>;
}

export function defineSink<C>(definition: Omit<SinkDefinition<C>, 'role'>): SinkDefinition<C> {
  return Object.freeze({ role: 'sink' as const, ...definition });
}

/**
 * The path of its local file, or its address. Two sinks with the same text write to the same place.
 */
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
 * What a sink with this config would replace: its local file, or what an overwrite replaces at its
 * address. `undefined` when it only adds.
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
  if (definition.localPath?.(config) === undefined && definition.hasParts?.(config) !== true)
    return undefined;
  const adds = isObject(config) && (config['append'] === true || config['if_exists'] === 'append');
  return adds ? undefined : { output };
}

/** Whether two parts of one output overlap: the whole overlaps with every part. */
export function partsMeet(
  { part }: Pick<ReplacedOutput, 'part'>,
  other: Pick<ReplacedOutput, 'part'>,
): boolean {
  return part === undefined || other.part === undefined || part === other.part;
}

/** For `write`: a call after `close` is a bug of the caller and must not open anything again. */
export function requireOpen(isClosed: boolean): void {
  if (isClosed) throw new Error('cannot happen: a page was written to a closed sink');
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
