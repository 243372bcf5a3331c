/**
 * Executes a plan: which invocations there are, in what order they start, and what the whole comes
 * to.
 */
import { Gate } from '../lib/gate.ts';
import { StopReason } from '../lib/errors.ts';
import type { JsonValue } from '../lib/text/json.ts';
import type { Credentials } from '../kit/context.ts';
import type { FanOutPlan, Plan, RowPlan } from '../plan/plan.ts';
import type { InvocationOutcome, OutcomeError, RunOutcome } from '../wire/outcome.ts';
import type { ExecuteOptions } from './engine.ts';
import { outcomeErrorOf } from './failure.ts';
import { childExpansion } from './expand/children.ts';
import { chunkExpansion, chunksOf } from './expand/chunks.ts';
import { shardExpansion, shardsOf } from './expand/shards.ts';
import { ONCE, type Expansion } from './expand/expansion.ts';
import { runFanOut } from './expand/run-fan-out.ts';
import { tupleExpansion, tupleId, type ValueLists } from './expand/tuples.ts';
import { invocationName, SINGLE_ITERATION, type Iteration } from './expand/iteration.ts';
import { Capture } from './invocation.ts';
import { LiveCounts } from './live-counts.ts';
import { openLogins } from './logins.ts';
import { PAGE_BYTES, partContext } from './open.ts';
import { Observers } from './observe/observers.ts';
import { OutputClaims } from './output-claims.ts';
import { runInvocation } from './run-row.ts';
import { Tally } from './tally.ts';
import { ThreadBudget } from './threads/budget.ts';
import type { TopologyOutcome } from './topology/run-topology.ts';

/** After `on_error: stop` the other rows have this long to flush before everything is ended. */
const STOP_GRACE_MS = 5000;

/** What a finished row means for the rows that wait for it. */
interface RowResult {
  readonly ok: boolean;
  readonly outcomes: readonly InvocationOutcome[];
  /** Records kept for child rows. */
  readonly captured: readonly JsonValue[];
  /** Values of a fan-out row. */
  readonly listed?: ValueLists;
}

type Runnable = RowPlan | FanOutPlan;

/** Never throws: a plan that cannot run gives a failed outcome. */
export async function execute(options: ExecuteOptions): Promise<RunOutcome> {
  const { env, plan, runId, clock, dryRun = false, limit } = options;
  const startedAt = env.clock.now();
  const observers = new Observers(options.observers ?? [], env.log.at('headgate::engine'));
  observers.tell((observer) =>
    observer.runStarted?.({ plan, runId, startedAt, clock, dryRun, limit, signal: options.signal }),
  );
  const outcome = await outcomeOf(options, observers, startedAt);
  const read = new Map([...observers.sampledSources].map(([id, sampler]) => [id, sampler.shape()]));
  observers.tell((observer) => observer.runEnded?.(outcome, read));
  const told = observers.settled({ clock: env.clock, signal: anyOf(options) });
  if (options.onNotifying === undefined) await told;
  else options.onNotifying(told);
  return outcome;
}

/** However the run is to stop. */
function anyOf({ signal, killSignal }: ExecuteOptions): AbortSignal {
  return killSignal === undefined ? signal : AbortSignal.any([signal, killSignal]);
}

async function outcomeOf(
  options: ExecuteOptions,
  observers: Observers,
  startedAt: Date,
): Promise<RunOutcome> {
  const { env, plan } = options;
  env.log.at('headgate::engine').info('pipeline run starting', {
    pipeline: plan.name,
    rows: plan.rows.length,
    run_id: options.runId,
  });
  let outcomes: readonly InvocationOutcome[] = [];
  let nodes: RunOutcome['nodes'];
  let failure: OutcomeError | null = null;
  try {
    if (plan.topology === undefined) outcomes = await new Execution(options, observers).run();
    else ({ invocations: outcomes, nodes, failure } = await runGraph(options, observers));
  } catch (error) {
    failure = outcomeErrorOf(error, env.redactor);
  }
  const failed = outcomes.filter((outcome) => outcome.status === 'failed');
  failure ??= summaryOf(failed);
  const cancelled = anyOf(options).aborted;
  const status = failure !== null ? 'failed' : cancelled ? 'cancelled' : 'completed';
  const written = outcomes.reduce((sum, outcome) => sum + outcome.balance.written, 0);
  const log = env.log.at('headgate::engine');
  if (failure === null)
    log.info(`pipeline run ${status}`, { pipeline: plan.name, records_written: written });
  else
    log.error('pipeline run failed', {
      pipeline: plan.name,
      records_written: written,
      error: failure.message,
    });
  return {
    pipeline: plan.name,
    status,
    started_at: startedAt.toISOString(),
    finished_at: env.clock.now().toISOString(),
    records_written: written,
    invocations: outcomes,
    error: failure,
    ...(nodes === undefined ? {} : { nodes }),
    ...(plan.localOutputs === undefined ? {} : { local_outputs: plan.localOutputs }),
  };
}

async function runGraph(options: ExecuteOptions, observers: Observers): Promise<TopologyOutcome> {
  const { runTopology } = await import('./topology/run-topology.ts');
  return runTopology(options, { observers });
}

function summaryOf(failed: readonly InvocationOutcome[]): OutcomeError | null {
  const [first] = failed;
  if (first?.error == null) return null;
  return {
    ...first.error,
    message: `${failed.length} invocation(s) failed: ${first.row_id}: ${first.error.message}`,
  };
}

class Execution {
  readonly #options: ExecuteOptions;
  readonly #observers: Observers;
  readonly #credentials: Credentials;
  readonly #gate: Gate;
  readonly #results = new Map<string, Promise<RowResult>>();
  readonly #counts = new LiveCounts();
  readonly #claims: OutputClaims;
  readonly #threads: ThreadBudget;
  readonly #siblings = new AbortController();
  readonly #hardStop = new AbortController();
  readonly #stop: AbortSignal;
  readonly #kill: AbortSignal;

  constructor(options: ExecuteOptions, observers: Observers) {
    this.#options = options;
    this.#observers = observers;
    this.#claims = new OutputClaims(options.env.cwd);
    this.#threads = new ThreadBudget(options.threads ?? 0);
    this.#gate = new Gate(options.plan.maxConcurrent);
    this.#stop = AbortSignal.any([options.signal, this.#siblings.signal]);
    this.#kill =
      options.killSignal === undefined
        ? this.#hardStop.signal
        : AbortSignal.any([options.killSignal, this.#hardStop.signal]);
    this.#credentials = options.credentials ?? openLogins(options, this.#kill);
  }

  async run(): Promise<readonly InvocationOutcome[]> {
    const { plan } = this.#options;
    const rows = [...plan.rows, ...plan.fanOuts].sort((one, other) => one.index - other.index);
    for (const row of queueOrder(rows, plan)) this.#results.set(row.id, this.#runRow(row));
    const results = await Promise.all(rows.map((row) => this.#resultOf(row.id)));
    return results.flatMap((result) => result.outcomes);
  }

  #resultOf(id: string): Promise<RowResult> {
    const result = this.#results.get(id);
    if (result === undefined) throw new Error(`cannot happen: row ${id} was not queued`);
    return result;
  }

  async #runRow(row: Runnable): Promise<RowResult> {
    try {
      return await this.#runWhenReady(row);
    } catch (error) {
      if (this.#stop.aborted)
        return { ok: false, outcomes: [this.#notRun(row, SINGLE_ITERATION)], captured: [] };
      const failure = outcomeErrorOf(error, this.#options.env.redactor);
      this.#log().error('row failed', { row: row.id, error: failure.message });
      if (this.#options.plan.onError === 'stop') this.#stopSiblings(row);
      return {
        ok: false,
        outcomes: [{ ...this.#notRun(row, SINGLE_ITERATION), status: 'failed', error: failure }],
        captured: [],
      };
    }
  }

  async #runWhenReady(row: Runnable): Promise<RowResult> {
    // Every row is queued before the first one looks for those it waits for.
    await Promise.resolve();
    const needed = [
      ...new Set([
        ...(row.role === 'child' && row.parent !== undefined ? [row.parent.row] : []),
        ...row.dependsOn,
      ]),
    ];
    const waited = new Map(
      await Promise.all(needed.map(async (id) => [id, await this.#resultOf(id)] as const)),
    );
    const missing = needed.find((id) => waited.get(id)?.ok !== true);
    if (missing !== undefined) return this.#skip(row, `\`${missing}\` did not finish`);
    const expansion = await this.#expand(row, waited);
    if (expansion.size === 0) {
      this.#log().info('row has nothing to do', { row: row.id, reason: expansion.idle });
      return { ok: true, outcomes: [], captured: [] };
    }
    return row.role === 'discovery'
      ? this.#listIterations(row, expansion)
      : this.#moveIterations(row, expansion);
  }

  async #expand(row: Runnable, waited: ReadonlyMap<string, RowResult>): Promise<Expansion> {
    const base = expansionOf(row, waited);
    if (
      row.role === 'discovery' ||
      (row.partition === undefined && row.shard === undefined) ||
      base.size === 0
    )
      return base;
    const { tokens, ...opener } = this.#invocationOf(SINGLE_ITERATION);
    const release = await this.#gate.enter();
    try {
      const context = {
        ...partContext({ ...opener, row }),
        signal: this.#stop,
        pageBytes: PAGE_BYTES,
      };
      if (row.partition !== undefined)
        return chunkExpansion(row.id, base, await chunksOf(row.partition, { context, tokens }));
      return row.shard === undefined
        ? base
        : shardExpansion(await shardsOf(row.shard, row.source, { context, tokens }));
    } finally {
      release();
    }
  }

  /**
   * A row stands in the line for one iteration at a time: the others cost nothing yet, and no row keeps
   * all others waiting.
   */
  async #runIterations(
    row: Runnable,
    expansion: Expansion,
    run: (iteration: Iteration) => Promise<InvocationOutcome>,
  ): Promise<RowResult> {
    const running: Promise<InvocationOutcome>[] = [];
    for (const iteration of expansion.iterations()) {
      const release = await this.#gate.enter();
      running.push(
        (this.#stop.aborted
          ? Promise.resolve(this.#notRun(row, iteration))
          : this.#ended(row, run(iteration))
        ).finally(release),
      );
    }
    const outcomes = await Promise.all(running);
    return {
      ok: outcomes.every((outcome) => outcome.status === 'completed'),
      outcomes,
      captured: [],
    };
  }

  async #ended(row: Runnable, running: Promise<InvocationOutcome>): Promise<InvocationOutcome> {
    const outcome = await running;
    this.#counts.finished();
    if (outcome.status === 'failed' && this.#options.plan.onError === 'stop')
      this.#stopSiblings(row);
    this.#tell(row);
    return outcome;
  }

  async #moveIterations(row: RowPlan, expansion: Expansion): Promise<RowResult> {
    const capture = this.#captureFor(row);
    const result = await this.#runIterations(row, expansion, (iteration) =>
      this.#move(row, iteration, capture),
    );
    return { ...result, captured: capture?.records ?? [] };
  }

  async #listIterations(row: FanOutPlan, expansion: Expansion): Promise<RowResult> {
    const lists = new Map<string, readonly JsonValue[]>();
    const result = await this.#runIterations(row, expansion, async (iteration) => {
      const { outcome, values } = await runFanOut({ ...this.#invocationOf(iteration), row });
      lists.set(tupleId(row.forEach, iteration.records), values);
      return outcome;
    });
    return { ...result, listed: { alias: row.alias, forEach: row.forEach, lists } };
  }

  /** What every invocation is given. */
  #invocationOf(iteration: Iteration) {
    const { env, plan, clock, zone = 'UTC' } = this.#options;
    return {
      env,
      plan,
      invocationId: env.ids.next(),
      credentials: this.#credentials,
      tokens: { now: { date: clock, zone }, records: iteration.records },
      iteration,
      stop: this.#stop,
      kill: this.#kill,
    };
  }

  async #move(
    row: RowPlan,
    iteration: Iteration,
    capture: Capture | undefined,
  ): Promise<InvocationOutcome> {
    let counted: Tally | undefined;
    const outcome = await runInvocation({
      ...this.#invocationOf(iteration),
      row,
      runId: this.#options.runId,
      capture,
      concurrency: this.#options.concurrency,
      dryRun: this.#options.dryRun ?? false,
      limit: this.#options.limit,
      onFailpoint: this.#options.onFailpoint,
      claims: this.#claims,
      // Whoever writes only the first records must not read many ahead.
      threads: this.#options.limit === undefined ? this.#threads : undefined,
      observers: this.#observers,
      ...this.#inspectionOf(row),
      onPage: (tally) => {
        counted = tally;
        this.#counts.watch(tally);
        this.#tell(row);
      },
    });
    this.#counts.retire(counted);
    return outcome;
  }

  /** What is done once the row has written everything and let go of it. */
  #inspectionOf(row: RowPlan): { inspect?: () => Promise<void> } {
    const { plan, parts, env, clock, zone, runId } = this.#options;
    if (row.verify?.spec.after_run !== true) return {};
    const setting = {
      plan,
      parts,
      env,
      clock,
      zone,
      runId,
      row,
      stop: this.#stop,
      kill: this.#kill,
      credentials: this.#credentials,
    };
    return { inspect: async () => (await import('./verify/after-run.ts')).verifyAfterRun(setting) };
  }

  #captureFor(row: RowPlan): Capture | undefined {
    const children = this.#options.plan.rows.filter((other) => other.parent?.row === row.id);
    if (children.length === 0) return undefined;
    const fields = new Set<string>();
    for (const child of children) {
      if (child.parent === undefined || child.parent.fields === 'record' || child.parent.key === '')
        return new Capture('record');
      for (const field of [...child.parent.fields, child.parent.key.split('.')[0] ?? ''])
        fields.add(field);
    }
    return new Capture(fields);
  }

  #stopSiblings(row: Runnable): void {
    if (this.#siblings.signal.aborted) return;
    this.#log().warn('stopping the other rows (execution.on_error is stop)', { failed: row.id });
    this.#siblings.abort(
      new StopReason(
        'sibling_failed',
        `row \`${row.id}\` failed and \`execution.on_error\` is \`stop\``,
      ),
    );
    setTimeout(
      () => this.#hardStop.abort(new StopReason('kill', 'the rows did not stop in time')),
      STOP_GRACE_MS,
    ).unref();
  }

  #skip(row: Runnable, why: string): RowResult {
    this.#log().warn('row skipped', { row: row.id, reason: why });
    const error = { code: 'row_skipped', kind: 'Custom', message: `skipped: ${why}` } as const;
    return {
      ok: false,
      outcomes: [{ ...this.#notRun(row, SINGLE_ITERATION), status: 'skipped', error }],
      captured: [],
    };
  }

  /** The outcome of an invocation that never started. */
  #notRun(row: Runnable, iteration: Iteration): InvocationOutcome {
    const { env } = this.#options;
    const now = env.clock.now().toISOString();
    return {
      invocation_id: env.ids.next(),
      row_id: invocationName(row, iteration),
      parent_record_key: iteration.key,
      source: row.source.type,
      sink: row.role === 'discovery' ? '' : row.sink.type,
      status: 'cancelled',
      balance: new Tally().balance(),
      bytes_read: 0,
      pages: 0,
      lane: row.role === 'discovery' ? 'records' : row.lane.lane.form,
      error: null,
      started_at: now,
      finished_at: now,
      duration_ms: 0,
    };
  }

  #tell(row: Runnable): void {
    this.#options.onProgress?.(this.#counts.progress(row.id));
  }

  #log(): ExecuteOptions['env']['log'] {
    return this.#options.env.log.at('headgate::engine');
  }
}

function expansionOf(row: Runnable, waited: ReadonlyMap<string, RowResult>): Expansion {
  if (row.role === 'child' && row.parent !== undefined) {
    return childExpansion(row.id, row.parent, waited.get(row.parent.row)?.captured ?? []);
  }
  if (row.forEach.length === 0) return ONCE;
  const listed = [...waited].flatMap(([id, result]) =>
    result.listed === undefined ? [] : [[id, result.listed] as const],
  );
  return tupleExpansion(row, new Map(listed));
}

/** As declared, or heaviest first: a stable order, rows without a weight after those with one. */
function queueOrder(rows: readonly Runnable[], { schedule }: Plan): readonly Runnable[] {
  if (schedule === 'declared') return rows;
  return [...rows].sort((a, b) => (b.weight ?? -1) - (a.weight ?? -1) || a.index - b.index);
}
