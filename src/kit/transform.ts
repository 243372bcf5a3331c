import type { ZodType } from 'zod';
import type { Env } from '../lib/env.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { Columns } from './columns.ts';
import type { RecordSchema } from './record-schema.ts';

/** What a stage reads; the plan uses it to choose the lane of the row. */
export type Reads =
  | { readonly kind: 'fields'; readonly names: readonly string[] }
  | { readonly kind: 'record' };

export type Emit = (record: JsonValue) => void;

/**
 * The same work on cells. The result holds the records that `record` would have given; records that
 * are left out are not among its rows. `undefined`, or a `RecordError`, means that this page has to
 * be processed as records, which then decide.
 */
export type OnColumns = (columns: Columns) => Columns | undefined;

/** Records together with the places of those, among the ones given, that they were made of. */
export interface RecordsWithOrigins {
  readonly records: readonly JsonValue[];
  readonly origins: readonly number[];
}

/**
 * A compiled transform. `record` maps one record to 0..N records, in order, by calling `emit`; it
 * may change the record it is given (the engine owns it) but must not keep it. `page` gets the
 * whole page. Both throw `RecordError('Transform', …)`.
 */
export type CompiledTransform =
  | {
      readonly kind: 'record';
      apply(record: JsonValue, emit: Emit): void;
      readonly onColumns?: OnColumns;
      close?(): Promise<void>;
    }
  | {
      readonly kind: 'page';
      /** `schema`: what is known of the fields of the records; nothing when it is absent. */
      apply(
        records: readonly JsonValue[],
        signal: AbortSignal,
        schema?: RecordSchema,
      ): Promise<readonly JsonValue[] | RecordsWithOrigins>;
      /**
       * Present for definitions that say `schemaWhenCompiled`. Called once for each schema of input,
       * before the pages with it.
       */
      schemaAfter?(input: RecordSchema): Promise<RecordSchema>;
      close?(): Promise<void>;
    };

export interface TransformContext {
  readonly env: Env;
}

/** How output columns come from input columns, for column lineage. */
export type ColumnFlow =
  | { readonly kind: 'identity' | 'opaque' }
  | { readonly kind: 'rename'; readonly fields: Readonly<Record<string, string>> }
  | { readonly kind: 'select' | 'drop' | 'add'; readonly fields: readonly string[] }
  /** Fields that are computed from others, which stay in the record. */
  | { readonly kind: 'derive'; readonly fields: Readonly<Record<string, readonly string[]>> };

// See SourceDefinition for why the type is erased.
// oxlint-disable-next-line typescript/no-explicit-any
export interface TransformDefinition<C = any> {
  readonly role: 'transform';
  readonly type: string;
  readonly description: string;
  readonly config: ZodType<C>;
  /** Cases that are run as tests and printed in the docs. */
  readonly examples: readonly {
    readonly config: JsonObject;
    readonly input: readonly JsonValue[];
    readonly output: readonly JsonValue[];
  }[];
  reads(config: C): Reads;
  columns(config: C): ColumnFlow;
  /**
   * What is known of the fields of its output. `input` may be open: fields that are not listed there
   * may occur. When absent, nothing is known.
   */
  schema?(config: C, input: RecordSchema): RecordSchema;
  /** Whether only its compiled form can say it: `schemaAfter` of what `compile` returns. */
  readonly schemaWhenCompiled?: boolean;
  /**
   * Whether `compile` returns `onColumns` for this config; the plan uses it to decide how far
   * records stay columns.
   */
  worksOnColumns?(config: C): boolean;
  /** Whether it sends records to the dead-letter queue: a `RecordError` with a fault that diverts. */
  quarantines?(config: C): boolean;
  /** Whether its config may hold run-time `${now.*}` tokens. Only `set` says yes. */
  readonly runtimeTokens?: boolean;
  /**
   * Called once per invocation; loads reference data. Throws `ConfigError` when the config cannot
   * work.
   */
  compile(config: C, context: TransformContext): CompiledTransform | Promise<CompiledTransform>;
}

export function defineTransform<C>(
  definition: Omit<TransformDefinition<C>, 'role'>,
): TransformDefinition<C> {
  return Object.freeze({ role: 'transform' as const, ...definition });
}
