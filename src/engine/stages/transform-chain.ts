import { RecordError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Columns } from '../../kit/columns.ts';
import type { SchemaChange } from './page-schema.ts';
import type { Page } from '../../kit/page.ts';
import type { CompiledTransform, Emit, OnColumns } from '../../kit/transform.ts';

export interface ChainResult {
  readonly page: Page;
  /** Records for which a stage gave nothing. */
  readonly filtered: number;
  /** Records given beyond one for one. */
  readonly expanded: number;
}

export interface NamedTransform {
  readonly type: string;
  readonly compiled: CompiledTransform;
  readonly schemaAfter: SchemaChange;
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

  constructor(transforms: readonly NamedTransform[]) {
    this.#transforms = transforms;
    this.#onColumns = leadingOnColumns(transforms);
    this.#steps = joinNeighbours(transforms);
    this.#stepsAfter = joinNeighbours(transforms.slice(this.#onColumns.length));
  }

  get empty(): boolean {
    return this.#transforms.length === 0;
  }

  /** How each transform changes what is known of the fields. */
  get schemaChanges(): readonly SchemaChange[] {
    return this.#transforms.map(({ schemaAfter }) => schemaAfter);
  }

  async run(page: Page, signal: AbortSignal): Promise<ChainResult> {
    const columns = page.columns === undefined ? undefined : this.#runOnColumns(page.columns);
    if (columns === undefined) return runSteps(this.#steps, page, signal);
    const before = page.withColumns(columns);
    const filtered = page.count - columns.count;
    if (this.#stepsAfter.length === 0) return { page: before, filtered, expanded: 0 };
    const after = await runSteps(this.#stepsAfter, before, signal);
    return { ...after, filtered: filtered + after.filtered };
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
  signal: AbortSignal,
): Promise<ChainResult> {
  let records = page.records();
  let filtered = 0;
  let expanded = 0;
  for (const step of steps) {
    if (step.kind === 'records') {
      const result = step.run(records);
      records = result.records;
      filtered += result.filtered;
      expanded += result.expanded;
    } else {
      const next = await naming(step.type, () => step.apply(records, signal));
      filtered += Math.max(0, records.length - next.length);
      expanded += Math.max(0, next.length - records.length);
      records = next;
    }
  }
  return { page: page.withRecords(records), filtered, expanded };
}

interface RecordsResult extends Omit<ChainResult, 'page'> {
  readonly records: readonly JsonValue[];
}

type Step =
  | { readonly kind: 'records'; run(records: readonly JsonValue[]): RecordsResult }
  | {
      readonly kind: 'page';
      readonly type: string;
      apply(records: readonly JsonValue[], signal: AbortSignal): Promise<readonly JsonValue[]>;
    };

function joinNeighbours(transforms: readonly NamedTransform[]): Step[] {
  const steps: Step[] = [];
  let run: NamedTransform[] = [];
  const close = (): void => {
    if (run.length > 0) steps.push(recordStep(run));
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
        type: transform.type,
        apply: (records, signal) => compiled.apply(records, signal),
      });
    }
  }
  close();
  return steps;
}

function recordStep(transforms: readonly NamedTransform[]): Step {
  return {
    kind: 'records',
    run(records) {
      const out: JsonValue[] = [];
      const tally = { filtered: 0, expanded: 0 };
      let emit: Emit = (record) => {
        out.push(record);
      };
      for (const transform of transforms.toReversed()) emit = link(transform, emit, tally);
      for (const record of records) emit(record);
      return { records: out, ...tally };
    },
  };
}

/** Feeds one stage and counts its output for each record. */
function link(
  { type, compiled }: NamedTransform,
  next: Emit,
  tally: { filtered: number; expanded: number },
): Emit {
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
      throw named(type, error);
    }
    if (given === 0) tally.filtered += 1;
    else tally.expanded += given - 1;
  };
}

async function naming<T>(type: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw named(type, error);
  }
}

/** Says which transform failed, unless a later one in the chain has said so already. */
function named(type: string, error: unknown): unknown {
  if (
    !(error instanceof RecordError) ||
    error.kind !== 'Transform' ||
    error.message.startsWith('transform `')
  )
    return error;
  return new RecordError(
    'Transform',
    `transform \`${type}\`: ${error.message}`,
    error.hint === undefined ? { cause: error } : { cause: error, hint: error.hint },
  );
}
