/**
 * Collects what the root rows of a run move, and reports it as movements when the run has ended.
 */
import { rowOfInvocation } from '../../engine/expand/iteration.ts';
import { canonicalUri } from '../../engine/observe/canonical-uri.ts';
import { columnOriginsOf } from '../../engine/observe/column-origins.ts';
import { datasetsOf, sourceNodesOf } from '../../engine/observe/datasets.ts';
import {
  isWholeRun,
  type ObservedRow,
  type ObservedRun,
  type RunObserver,
} from '../../engine/observe/observer.ts';
import type { RecordShape, RowShapes } from '../../engine/observe/samples.ts';
import type { Env } from '../../lib/env.ts';
import type { MovedDataset, Movement } from '../../wire/catalog.ts';
import type { InvocationOutcome, RunOutcome } from '../../wire/outcome.ts';
import { inferSchema } from './schemas.ts';

export interface MovementOptions {
  readonly env: Pick<Env, 'cwd' | 'redactor'>;
  readonly sampleRecords: number;
  readonly deliver: (movements: readonly Movement[]) => void | Promise<void>;
}

interface Ended {
  readonly row: ObservedRow;
  readonly outcome: InvocationOutcome;
  readonly shapes: RowShapes | undefined;
}

type Moved = Pick<Movement, 'datasets' | 'edges'>;

/**
 * Reports only complete movements: not those of dry, limited or cancelled runs, of rows that
 * failed, or of rows that run for the records of others. The chunks of a row are one movement.
 */
export class MovementObserver implements RunObserver {
  readonly name = 'catalog';
  readonly sampleRecords: number;
  readonly #options: MovementOptions;
  readonly #ended: Ended[] = [];
  #run: ObservedRun | undefined;

  constructor(options: MovementOptions) {
    this.#options = options;
    this.sampleRecords = options.sampleRecords;
  }

  /** Samples may be there because another observer asks for them. */
  get #isAsked(): boolean {
    return this.sampleRecords > 0;
  }

  runStarted(run: ObservedRun): void {
    if (isWholeRun(run)) this.#run = run;
  }

  rowEnded(row: ObservedRow, outcome: InvocationOutcome, shapes: RowShapes | undefined): void {
    if (this.#run === undefined || row.row.role !== 'root') return;
    this.#ended.push({ row, outcome, shapes: this.#isAsked ? shapes : undefined });
  }

  async runEnded(outcome: RunOutcome, read: ReadonlyMap<string, RecordShape>): Promise<void> {
    const run = this.#run;
    if (run === undefined || outcome.status === 'cancelled') return;
    const graphFailed = run.plan.topology !== undefined && outcome.status !== 'completed';
    const movements = graphFailed
      ? []
      : this.#movements(run, outcome, this.#isAsked ? read : new Map());
    if (movements.length > 0) await this.#options.deliver(movements);
  }

  #movements(
    run: ObservedRun,
    outcome: RunOutcome,
    read: ReadonlyMap<string, RecordShape>,
  ): Movement[] {
    const rows = new Set(run.plan.rows.map(({ id }) => id));
    const isRow = (id: string): boolean => rows.has(id);
    // Chunks that never started appear only here.
    const broken = new Set(
      outcome.invocations.flatMap(({ row_id: name, status }) =>
        status === 'completed' ? [] : rowOfInvocation(name, isRow),
      ),
    );
    const whole = [...Map.groupBy(this.#ended, ({ row }) => row.row.id)].filter(
      ([id]) => !broken.has(id),
    );
    const about = { pipeline: run.plan.name, run_id: run.runId, recorded_at: outcome.finished_at };
    return whole.flatMap(([row, parts]) => {
      const moved = together(parts.map((part) => this.#moved(run, part, { outcome, read })));
      return moved.datasets.length === 0 ? [] : [{ ...about, row, ...moved }];
    });
  }

  #moved(
    run: ObservedRun,
    { row, outcome, shapes }: Ended,
    whole: { outcome: RunOutcome; read: ReadonlyMap<string, RecordShape> },
  ): Moved {
    const { plan } = run;
    const { inputs, output } = datasetsOf(row.row, {
      plan,
      tokens: row.tokens,
      env: this.#options.env,
    });
    const { written } = outcome.balance;
    const isGraph = plan.topology !== undefined;
    const columns =
      shapes === undefined || inputs.length !== 1
        ? undefined
        : columnOriginsOf(row.row, plan, shapes);
    const sinkUri = canonicalUri(output, row.tokens);
    const datasets: MovedDataset[] = [];
    const edges: Movement['edges'][number][] = [];
    for (const input of inputs) {
      const uri = canonicalUri(input, row.tokens);
      if (uri === undefined) continue;
      const node = isGraph ? whole.outcome.nodes?.find(({ id }) => id === input.id) : undefined;
      const records = node?.records_in ?? written;
      const shape = isGraph ? whole.read.get(input.id) : shapes?.read.get(input.id);
      // A source that feeds several sinks is reported with the first of them.
      if (!isGraph || feedsFirst(run, input.id, row.row.id))
        datasets.push(dataset({ uri, kind: input.kind, role: 'source', records }, shape));
      if (sinkUri !== undefined)
        edges.push({
          from: uri,
          to: sinkUri,
          records,
          ...(columns === undefined ? {} : { columns }),
        });
    }
    if (sinkUri !== undefined)
      datasets.push(
        dataset(
          { uri: sinkUri, kind: output.kind, role: 'sink', records: written },
          shapes?.written,
        ),
      );
    return { datasets, edges };
  }
}

function feedsFirst({ plan }: ObservedRun, source: string, sink: string): boolean {
  return (
    plan.rows.find(({ id }) => sourceNodesOf(id, plan).some((node) => node.id === source))?.id ===
    sink
  );
}

function dataset(
  moved: Omit<MovedDataset, 'schema'>,
  shape: RecordShape | undefined,
): MovedDataset {
  const schema = shape === undefined ? undefined : inferSchema(shape);
  return schema === undefined ? moved : { ...moved, schema };
}

/** What the chunks of a row moved, as if it had been one piece. */
function together(parts: readonly Moved[]): Moved {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const datasets = new Map<string, MovedDataset>();
  const edges = new Map<string, Movement['edges'][number]>();
  for (const part of parts) {
    for (const one of part.datasets) {
      const key = `${one.role} ${one.uri}`;
      const before = datasets.get(key);
      datasets.set(
        key,
        before === undefined ? one : { ...one, ...before, records: before.records + one.records },
      );
    }
    for (const edge of part.edges) {
      const key = JSON.stringify([edge.from, edge.to]);
      const before = edges.get(key);
      edges.set(
        key,
        before === undefined
          ? edge
          : { ...edge, ...before, records: before.records + edge.records },
      );
    }
  }
  return { datasets: [...datasets.values()], edges: [...edges.values()] };
}
