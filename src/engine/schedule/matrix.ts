/** Runs the rows of a matrix: each row and fan-out row is a unit of the scheduler. */
import { verifyBlock } from '../../blocks/verify/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Credentials } from '../../kit/context.ts';
import type { FanOutPlan, PlannedRow } from '../../plan/plan.ts';
import { failureFacts, type InvocationOutcome } from '../../wire/outcome.ts';
import type { ExecuteOptions } from '../engine.ts';
import { outcomeErrorOf } from '../failure.ts';
import { childExpansion } from '../expand/children.ts';
import { chunkExpansion, chunksOf } from '../expand/chunks.ts';
import { ONCE, type Expansion } from '../expand/expansion.ts';
import { SINGLE_ITERATION, type Iteration } from '../expand/iteration.ts';
import { runFanOut } from '../expand/run-fan-out.ts';
import { LEFT_TO_OTHERS, shardExpansion, shardsOf } from '../expand/shards.ts';
import { tupleExpansion, tupleId, type ValueLists } from '../expand/tuples.ts';
import { Capture } from '../row/invocation.ts';
import { openLogins } from '../logins.ts';
import type { Observers } from '../observe/observers.ts';
import { PAGE_BYTES, partContext } from '../row/parts.ts';
import { OutputClaims } from '../row/output-claims.ts';
import { runInvocation } from '../row/run-invocation.ts';
import type { InvocationRequest } from '../row/request.ts';
import type { Tally } from '../row/tally.ts';
import { ThreadBudget } from '../threads/budget.ts';
import { LiveCounts } from './live-counts.ts';
import { notStartedOutcome } from './not-started.ts';
import { Scheduler, type InSlot, type NotStarted, type Task, type WorkUnit } from './scheduler.ts';

/** After `on_error: stop` the other rows have this long to flush before everything is ended. */
const STOP_GRACE_MS = 5000;

type MatrixRow = PlannedRow | FanOutPlan;

/** The outcomes of all invocations, by row in the order of the document. */
export function runMatrix(
  options: ExecuteOptions,
  observers: Observers,
): Promise<readonly InvocationOutcome[]> {
  return new MatrixRun(options, observers).run();
}

class MatrixRun {
  readonly #options: ExecuteOptions;
  readonly #observers: Observers;
  readonly #scheduler: Scheduler<InvocationOutcome>;
  readonly #credentials: Credentials;
  readonly #claims: OutputClaims;
  readonly #threads: ThreadBudget;
  readonly #counts = new LiveCounts();
  /** What rows keep for their children. */
  readonly #captures = new Map<string, Capture>();
  /** What fan-out rows have listed. */
  readonly #listed = new Map<string, ValueLists>();

  constructor(options: ExecuteOptions, observers: Observers) {
    const { env, plan, signal, killSignal, threads = 0, threadsFromBytes } = options;
    this.#options = options;
    this.#observers = observers;
    this.#scheduler = new Scheduler({
      maxConcurrent: plan.maxConcurrent,
      onError: plan.onError,
      order: plan.schedule,
      signal,
      killSignal,
      stopGraceMs: STOP_GRACE_MS,
      noun: 'row',
      log: this.#log(),
    });
    this.#claims = new OutputClaims(env.cwd);
    this.#threads = new ThreadBudget(threads, threadsFromBytes);
    this.#credentials = options.credentials ?? openLogins(options, this.#scheduler.kill);
  }

  run(): Promise<readonly InvocationOutcome[]> {
    const { rows, fanOuts } = this.#options.plan;
    const all: MatrixRow[] = [...rows, ...fanOuts].sort((one, other) => one.index - other.index);
    return this.#scheduler.run(all.map((row) => this.#unitOf(row)));
  }

  #unitOf(row: MatrixRow): WorkUnit<InvocationOutcome> {
    const parent = row.role === 'child' && row.parent !== undefined ? [row.parent.row] : [];
    return {
      id: row.id,
      dependsOn: [...new Set([...parent, ...row.dependsOn])],
      weight: row.weight,
      expand: async (inSlot) => this.#tasksOf(row, await this.#expansionOf(row, inSlot)),
      notStarted: (why) => this.#notStarted(row, why),
    };
  }

  /** How often the row runs; where only its source knows, that takes a slot to ask. */
  async #expansionOf(row: MatrixRow, inSlot: InSlot): Promise<Expansion> {
    const base = this.#baseExpansionOf(row);
    if (row.role === 'discovery' || base.size === 0) return base;
    const { partition, shard } = row;
    const { only, divert } = this.#options.sharing ?? {};
    if (partition === undefined && shard === undefined) return base;
    if (only !== undefined) return shardExpansion([only]);
    return inSlot(async () => {
      const { tokens, ...opener } = this.#requestOf(SINGLE_ITERATION);
      const context = {
        ...partContext({ ...opener, row }),
        signal: this.#scheduler.stop,
        pageBytes: PAGE_BYTES,
      };
      if (partition !== undefined)
        return chunkExpansion(row.id, base, await chunksOf(partition, { context, tokens }));
      if (shard === undefined) return base;
      const shards = await shardsOf(shard, row.source, { context, tokens });
      return divert?.(shards) === true ? LEFT_TO_OTHERS : shardExpansion(shards);
    });
  }

  #baseExpansionOf(row: MatrixRow): Expansion {
    if (row.role === 'child' && row.parent !== undefined)
      return childExpansion(row.id, row.parent, this.#captures.get(row.parent.row)?.records ?? []);
    return row.forEach.length === 0 ? ONCE : tupleExpansion(row, this.#listed);
  }

  #tasksOf(row: MatrixRow, expansion: Expansion): Iterable<Task<InvocationOutcome>> {
    if (expansion.size === 0)
      this.#log().info('row has nothing to do', { row: row.id, reason: expansion.idle });
    const run = row.role === 'discovery' ? this.#lister(row) : this.#mover(row);
    const taskOf = (iteration: Iteration): Task<InvocationOutcome> => ({
      run: async () => {
        const outcome = await run(iteration);
        this.#counts.finished();
        this.#reportProgress(row);
        return outcome;
      },
      cancelled: () => notStartedOutcome(row, iteration, this.#options.env),
    });
    return Iterator.from(expansion.iterations()).map(taskOf);
  }

  #lister(row: FanOutPlan): (iteration: Iteration) => Promise<InvocationOutcome> {
    const lists = new Map<string, readonly JsonValue[]>();
    this.#listed.set(row.id, { alias: row.alias, forEach: row.forEach, lists });
    return async (iteration) => {
      const { outcome, values } = await runFanOut({ ...this.#requestOf(iteration), row });
      lists.set(tupleId(row.forEach, iteration.records), values);
      return outcome;
    };
  }

  #mover(row: PlannedRow): (iteration: Iteration) => Promise<InvocationOutcome> {
    const { runId, fence, concurrency, dryRun, limit, hasReceipt, onFailpoint } = this.#options;
    const capture = this.#captureFor(row);
    return async (iteration) => {
      let counted: Tally | undefined;
      const request: InvocationRequest = {
        ...this.#requestOf(iteration),
        row,
        runId,
        fence,
        capture,
        concurrency,
        dryRun,
        limit,
        hasReceipt,
        onFailpoint,
        claims: this.#claims,
        // A run that writes only the first records must not read many ahead.
        threads: limit === undefined ? this.#threads : undefined,
      };
      const outcome = await runInvocation(request, {
        observers: this.#observers,
        ...this.#inspectionOf(row),
        onPage: (tally) => {
          counted = tally;
          this.#counts.watch(tally);
          this.#reportProgress(row);
        },
      });
      this.#counts.retire(counted);
      return outcome;
    };
  }

  /** What every invocation is given. */
  #requestOf(iteration: Iteration) {
    const { env, plan, clock, zone = 'UTC' } = this.#options;
    return {
      env,
      plan,
      invocationId: env.ids.next(),
      credentials: this.#credentials,
      tokens: { now: { date: clock, zone }, records: iteration.records },
      iteration,
      stop: this.#scheduler.stop,
      kill: this.#scheduler.kill,
    };
  }

  /** The comparison of `verify.after_run`, once the row has closed everything. */
  #inspectionOf(row: PlannedRow): { inspect?: () => Promise<void> } {
    if (blockOf(row, verifyBlock)?.spec.after_run !== true) return {};
    const { plan, parts, env, clock, zone, runId, fence } = this.#options;
    const { stop, kill } = this.#scheduler;
    const credentials = this.#credentials;
    const settings = { plan, parts, env, clock, zone, runId, fence, row, stop, kill, credentials };
    return {
      inspect: async () => (await import('../verify/after-run.ts')).verifyAfterRun(settings),
    };
  }

  #captureFor(row: PlannedRow): Capture | undefined {
    const children = this.#options.plan.rows.filter((other) => other.parent?.row === row.id);
    if (children.length === 0) return undefined;
    const capture = new Capture(fieldsFor(children));
    this.#captures.set(row.id, capture);
    return capture;
  }

  #notStarted(row: MatrixRow, why: NotStarted): InvocationOutcome {
    const { env } = this.#options;
    const outcome = notStartedOutcome(row, SINGLE_ITERATION, env);
    if (why.status === 'cancelled') return outcome;
    if (why.status === 'failed') {
      const error = outcomeErrorOf(why.error, env.redactor);
      this.#log().error('row failed', {
        row: row.id,
        ...failureFacts(error, this.#options.hasReceipt),
      });
      return { ...outcome, status: 'failed', error };
    }
    const reason = `\`${why.dependency}\` did not finish`;
    this.#log().warn('row skipped', { row: row.id, reason });
    const error = { code: 'row_skipped', kind: 'Custom', message: `skipped: ${reason}` } as const;
    return { ...outcome, status: 'skipped', error };
  }

  #reportProgress(row: MatrixRow): void {
    this.#options.onProgress?.(this.#counts.progress(row.id));
  }

  #log(): ExecuteOptions['env']['log'] {
    return this.#options.env.log.at('headgate::engine');
  }
}

/** The fields of a parent's records that its children read. */
function fieldsFor(children: readonly PlannedRow[]): ReadonlySet<string> | 'record' {
  const fields = new Set<string>();
  for (const { parent } of children) {
    if (parent === undefined || parent.fields === 'record' || parent.key === '') return 'record';
    for (const field of [...parent.fields, parent.key.split('.')[0] ?? '']) fields.add(field);
  }
  return fields;
}
