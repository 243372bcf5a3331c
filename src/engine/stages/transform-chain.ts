import { RecordError } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { Columns } from '../../kit/columns.ts';
import { hasSpellings, keepSpelling } from '../../lib/text/number-spelling.ts';
import { joinOrigins, originAt, originsOfRows, type Origins } from './origins.ts';
import type { SchemaChange, TransformSchemaChange } from './page-schema.ts';
import type { Page } from '../../kit/page.ts';
import { knownSchema, UNKNOWN_SCHEMA, type RecordSchema } from '../../kit/record-schema.ts';
import type { CompiledTransform, Emit, OnColumns } from '../../kit/transform.ts';

export interface ChainResult {
  readonly page: Page;
  /** Records for which a stage gave nothing. */
  readonly filtered: number;
  /** Records given beyond one for one. */
  readonly expanded: number;
  /** Records that the policy of a transform puts aside, as it was given them. */
  readonly diverted: readonly DivertedRecord[];
  /** Known when they were asked for. */
  readonly origins?: Origins;
}

export interface DivertedRecord {
  readonly error: RecordError;
  /** As the transforms were given it. */
  readonly record: JsonValue;
  /** Index in the page as it entered the transforms, unless a transform of pages came before. */
  readonly index: number;
  readonly isBehindPages?: boolean;
}

export interface NamedTransform {
  readonly type: string;
  /** Its place in the document. */
  readonly path?: string | undefined;
  /** Whether it puts records aside. */
  readonly quarantines?: boolean;
  readonly compiled: CompiledTransform;
  readonly schemaAfter: TransformSchemaChange;
}

/** What is known of the fields; pages of one run share their schema, so it is worked out once. */
interface KnownSchemas {
  readonly input: RecordSchema | undefined;
  readonly before: ReadonlyMap<NamedTransform, RecordSchema>;
  readonly output: RecordSchema | undefined;
}

/**
 * Runs a page through the transforms in order. Neighbouring record stages are joined to one pass,
 * so that a page is walked once however long the chain is; a page stage sees the whole page. A page
 * of columns stays one through all leading stages that work on columns; when one of them finds that
 * it cannot, all of them see the records.
 */
export class TransformChain {
  readonly #transforms: readonly NamedTransform[];
  /** The leading stages that work on columns. */
  readonly #onColumns: readonly OnColumns[];
  readonly #steps: readonly Step[];
  /** Those behind the stages that work on columns. */
  readonly #stepsAfter: readonly Step[];
  #schemas: KnownSchemas | undefined;

  constructor(transforms: readonly NamedTransform[]) {
    this.#transforms = transforms;
    this.#onColumns = leadingOnColumns(transforms);
    this.#steps = joinNeighbours(transforms);
    this.#stepsAfter = joinNeighbours(transforms.slice(this.#onColumns.length));
  }

  get empty(): boolean {
    return this.#transforms.length === 0;
  }

  /**
   * How transforms change what is known of the fields, for threads: no transform that has to be
   * asked for it runs in one.
   */
  get schemaChanges(): readonly SchemaChange[] {
    return this.#transforms.map(({ schemaAfter }) => (input) => {
      const output = schemaAfter(input);
      return output instanceof Promise ? UNKNOWN_SCHEMA : output;
    });
  }

  /** The result has the schema that the transforms make of that of the page. */
  async run(page: Page, signal: AbortSignal, tracks = false): Promise<ChainResult> {
    if (this.#schemas?.input !== page.schema || this.#schemas === undefined)
      this.#schemas = await this.#schemasFrom(page.schema);
    const { before, output } = this.#schemas;
    const result = await this.#runOn(page, { before, signal, tracks });
    return { ...result, page: result.page.withSchema(output) };
  }

  async #schemasFrom(input: RecordSchema | undefined): Promise<KnownSchemas> {
    const before = new Map<NamedTransform, RecordSchema>();
    let schema = input ?? UNKNOWN_SCHEMA;
    for (const transform of this.#transforms) {
      before.set(transform, schema);
      schema = await transform.schemaAfter(schema);
    }
    return { input, before, output: knownSchema(schema) };
  }

  async #runOn(page: Page, context: StepContext): Promise<ChainResult> {
    const columns = page.columns === undefined ? undefined : this.#runOnColumns(page.columns);
    if (columns === undefined) return runSteps(this.#steps, page, context);
    const before = page.withColumns(columns);
    const filtered = page.count - columns.count;
    const kept =
      context.tracks && page.columns !== undefined
        ? originsOfRows(page.columns, columns)
        : undefined;
    if (this.#stepsAfter.length === 0)
      return { page: before, filtered, expanded: 0, diverted: [], origins: kept };
    const after = await runSteps(this.#stepsAfter, before, context);
    return {
      ...after,
      filtered: filtered + after.filtered,
      diverted: after.diverted.map((one) => ({
        ...one,
        index: originAt(kept, one.index) ?? one.index,
      })),
      origins: joinOrigins(kept, after.origins),
    };
  }

  /**
   * `undefined` when one of them leaves the page to its records: a failure then names the first
   * record that fails.
   */
  #runOnColumns(columns: Columns): Columns | undefined {
    try {
      return this.#onColumns.reduce<Columns | undefined>(
        (now, stage) => (now === undefined ? undefined : stage(now)),
        columns,
      );
    } catch (error) {
      if (error instanceof RecordError) return undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const { compiled } of this.#transforms) await compiled.close?.();
  }
}

function leadingOnColumns(transforms: readonly NamedTransform[]): OnColumns[] {
  const leading: OnColumns[] = [];
  for (const { compiled } of transforms) {
    if (compiled.kind !== 'record' || compiled.onColumns === undefined) break;
    leading.push(compiled.onColumns);
  }
  return leading;
}

async function runSteps(
  steps: readonly Step[],
  page: Page,
  { before, signal, tracks }: StepContext,
): Promise<ChainResult> {
  let records = page.records();
  let filtered = 0;
  let expanded = 0;
  let origins: Origins;
  const diverted: DivertedRecord[] = [];
  for (const step of steps) {
    if (step.kind === 'records') {
      const result = step.run(records, tracks);
      const earlier = origins;
      const isBehindPages = earlier === null;
      origins = joinOrigins(origins, result.origins);
      records = result.records;
      filtered += result.filtered;
      expanded += result.expanded;
      for (const one of result.diverted)
        diverted.push(
          isBehindPages
            ? { ...one, isBehindPages }
            : { ...one, index: originAt(earlier, one.index) ?? one.index },
        );
    } else {
      const { transform, apply } = step;
      const schema = before.get(transform) ?? UNKNOWN_SCHEMA;
      const made = await naming(transform, () => apply(records, signal, schema));
      const next = 'origins' in made ? made.records : made;
      filtered += Math.max(0, records.length - next.length);
      expanded += Math.max(0, next.length - records.length);
      records = next;
      origins = tracks && 'origins' in made ? joinOrigins(origins, made.origins) : null;
    }
  }
  return { page: page.withRecords(records), filtered, expanded, diverted, origins };
}

interface RecordsResult extends Omit<ChainResult, 'page'> {
  readonly records: readonly JsonValue[];
}

type Step =
  | { readonly kind: 'records'; run(records: readonly JsonValue[], tracks: boolean): RecordsResult }
  | {
      readonly kind: 'page';
      readonly transform: NamedTransform;
      readonly apply: PageTransform['apply'];
    };

type PageTransform = Extract<CompiledTransform, { readonly kind: 'page' }>;

interface StepContext {
  readonly before: KnownSchemas['before'];
  readonly signal: AbortSignal;
  /** Whether the origins of records are asked for. */
  readonly tracks: boolean;
}

function joinNeighbours(transforms: readonly NamedTransform[]): Step[] {
  const steps: Step[] = [];
  let run: NamedTransform[] = [];
  const close = (): void => {
    if (run.length > 0) steps.push(recordStep(run, steps.length === 0));
    run = [];
  };
  for (const transform of transforms) {
    const { compiled } = transform;
    if (compiled.kind === 'record') {
      run.push(transform);
    } else {
      close();
      steps.push({
        kind: 'page',
        transform,
        apply: (records, signal, schema) => compiled.apply(records, signal, schema),
      });
    }
  }
  close();
  return steps;
}

/** Behind a transform of pages, records are no longer those of the source. */
function recordStep(transforms: readonly NamedTransform[], isFirst: boolean): Step {
  const quarantines = transforms.some((transform) => transform.quarantines === true);
  return {
    kind: 'records',
    run(records, tracks) {
      const out: JsonValue[] = [];
      const origins: number[] | undefined = tracks ? [] : undefined;
      const tally = { filtered: 0, expanded: 0 };
      let emit: Emit = (record) => {
        out.push(record);
      };
      for (const transform of transforms.toReversed()) emit = link(transform, emit, tally);
      if (quarantines) return putAside(records, { out, tally, emit, origins });
      let index = 0;
      const isSpelled = hasSpellings(records);
      try {
        for (; index < records.length; index += 1) {
          const from = out.length;
          emit(records[index] as JsonValue);
          if (isSpelled)
            for (let at = from; at < out.length; at += 1)
              keepSpelling(records, String(index), out, String(at));
          if (origins !== undefined) while (origins.length < out.length) origins.push(index);
        }
      } catch (error) {
        throw isFirst ? numbered(error, index) : error;
      }
      return {
        records: out,
        ...tally,
        diverted: [],
        origins: movedOrigins(origins, records, tally),
      };
    },
  };
}

interface Passing {
  readonly out: JsonValue[];
  readonly tally: { filtered: number; expanded: number };
  readonly emit: Emit;
  readonly origins: number[] | undefined;
}

/** `undefined` where each record stayed in its place. */
function movedOrigins(
  origins: readonly number[] | undefined,
  records: readonly JsonValue[],
  { filtered, expanded }: Passing['tally'],
): Origins {
  const isSame = filtered === 0 && expanded === 0 && origins?.length === records.length;
  return isSame ? undefined : origins;
}

/** Records that a transform puts aside leave nothing behind: neither output nor counts. */
function putAside(
  records: readonly JsonValue[],
  { out, tally, emit, origins }: Passing,
): RecordsResult {
  const diverted: DivertedRecord[] = [];
  for (const [index, record] of records.entries()) {
    const before = { length: out.length, ...tally };
    // Transforms change the top level of a record in place, and nothing below it.
    const asRead = isObject(record) ? { ...record } : record;
    try {
      emit(record);
      if (origins !== undefined) while (origins.length < out.length) origins.push(index);
    } catch (error) {
      if (!(error instanceof RecordError) || error.fault?.diverts !== true)
        throw numbered(error, index);
      out.length = before.length;
      tally.filtered = before.filtered;
      tally.expanded = before.expanded;
      diverted.push({ error, record: asRead, index });
    }
  }
  return { records: out, ...tally, diverted, origins: movedOrigins(origins, records, tally) };
}

/** The first that knows the index says it. */
function numbered(error: unknown, index: number): unknown {
  if (!(error instanceof RecordError) || error.index !== undefined) return error;
  return withDetails(error, error.message, index);
}

function withDetails(error: RecordError, message: string, index = error.index): RecordError {
  const { kind, hint, fault } = error;
  return new RecordError(kind, message, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
    ...(fault === undefined ? {} : { fault }),
    ...(index === undefined ? {} : { index }),
  });
}

/** Feeds one stage and counts its output for each record. */
function link(
  transform: NamedTransform,
  next: Emit,
  tally: { filtered: number; expanded: number },
): Emit {
  const { compiled } = transform;
  if (compiled.kind !== 'record') throw new Error('cannot happen: only record stages are joined');
  let given = 0;
  const count: Emit = (record) => {
    given += 1;
    next(record);
  };
  return (record) => {
    given = 0;
    try {
      compiled.apply(record, count);
    } catch (error) {
      throw named(transform, error);
    }
    if (given === 0) tally.filtered += 1;
    else tally.expanded += given - 1;
  };
}

async function naming<T>(
  transform: Pick<NamedTransform, 'type' | 'path'>,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw named(transform, error);
  }
}

/** Says which transform failed, unless a later one in the chain has said so already. */
function named({ type, path }: Pick<NamedTransform, 'type' | 'path'>, error: unknown): unknown {
  if (
    !(error instanceof RecordError) ||
    error.kind !== 'Transform' ||
    error.message.startsWith('transform `')
  )
    return error;
  const place = path === undefined ? '' : ` (\`${path}\`)`;
  return withDetails(error, `transform \`${type}\`: ${error.message}${place}`);
}
