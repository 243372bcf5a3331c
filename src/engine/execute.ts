/** Executes a plan: which invocations there are, in what order they start, and what the whole comes to. */
import { Gate } from '../lib/gate.ts';
import { StopReason } from '../lib/errors.ts';
import type { JsonValue } from '../lib/json.ts';
import { createCredentials } from '../credentials/index.ts';
import type { Credentials } from '../kit/context.ts';
import type { Plan, RowPlan } from '../plan/plan.ts';
import type { InvocationOutcome, OutcomeError, RunOutcome } from '../wire/outcome.ts';
import type { ExecuteOptions } from './engine.ts';
import { outcomeErrorOf } from './failure.ts';
import { childExpansion } from './expand/children.ts';
import { ONCE, type Expansion } from './expand/expansion.ts';
import { invocationName, ONLY_TURN, type Turn } from './expand/turn.ts';
import { Capture } from './invocation.ts';
import { LiveCounts } from './live-counts.ts';
import { runInvocation } from './run-row.ts';
import { Tally } from './tally.ts';

/** After `on_error: stop` the other rows have this long to flush before everything is ended. */
const STOP_GRACE_MS = 5000;

/** What a finished row means for the rows that wait for it. */
interface RowResult {
  readonly ok: boolean;
  readonly outcomes: readonly InvocationOutcome[];
  readonly captured: readonly JsonValue[];
}

/** Never throws: a plan that cannot run gives a failed outcome. */
export async function execute(options: ExecuteOptions): Promise<RunOutcome> {
  const { env, plan } = options;
  const startedAt = env.clock.now();
  env.log.at('headgate::engine').info('pipeline run starting', { pipeline: plan.name, rows: plan.rows.length, run_id: options.runId });
  let outcomes: readonly InvocationOutcome[] = [];
  let failure: OutcomeError | null = null;
  try {
    outcomes = await new Execution(options).run();
  } catch (error) {
    failure = outcomeErrorOf(error, env.redactor);
  }
  const failed = outcomes.filter((outcome) => outcome.status === 'failed');
  failure ??= summaryOf(failed);
  const cancelled = options.signal.aborted || options.killSignal?.aborted === true;
  const status = failure !== null ? 'failed' : cancelled ? 'cancelled' : 'completed';
  const written = outcomes.reduce((sum, outcome) => sum + outcome.balance.written, 0);
  const log = env.log.at('headgate::engine');
  if (failure === null) log.info(`pipeline run ${status}`, { pipeline: plan.name, records_written: written });
  else log.error('pipeline run failed', { pipeline: plan.name, records_written: written, error: failure.message });
  return {
    pipeline: plan.name,
    status,
    started_at: startedAt.toISOString(),
    finished_at: env.clock.now().toISOString(),
    records_written: written,
    invocations: outcomes,
    error: failure,
  };
}

function summaryOf(failed: readonly InvocationOutcome[]): OutcomeError | null {
  const [first] = failed;
  if (first?.error == null) return null;
  return { ...first.error, message: `${failed.length} invocation(s) failed: ${first.row_id}: ${first.error.message}` };
}

class Execution {
  readonly #options: ExecuteOptions;
  readonly #credentials: Credentials;
  readonly #gate: Gate;
  readonly #results = new Map<string, Promise<RowResult>>();
  readonly #counts = new LiveCounts();
  readonly #siblings = new AbortController();
  readonly #hardStop = new AbortController();
  readonly #stop: AbortSignal;
  readonly #kill: AbortSignal;

  constructor(options: ExecuteOptions) {
    this.#options = options;
    this.#gate = new Gate(options.plan.maxConcurrent);
    this.#stop = AbortSignal.any([options.signal, this.#siblings.signal]);
    this.#kill = options.killSignal === undefined ? this.#hardStop.signal : AbortSignal.any([options.killSignal, this.#hardStop.signal]);
    this.#credentials = createCredentials(options.parts.credentials, options.plan.auth, { env: options.env, signal: this.#kill });
  }

  async run(): Promise<readonly InvocationOutcome[]> {
    const { plan } = this.#options;
    for (const row of queueOrder(plan)) this.#results.set(row.id, this.#runRow(row));
    const results = await Promise.all(plan.rows.map((row) => this.#resultOf(row.id)));
    return results.flatMap((result) => result.outcomes);
  }

  #resultOf(id: string): Promise<RowResult> {
    const result = this.#results.get(id);
    if (result === undefined) throw new Error(`cannot happen: row ${id} was not queued`);
    return result;
  }

  async #runRow(row: RowPlan): Promise<RowResult> {
    try {
      return await this.#runWhenReady(row);
    } catch (error) {
      const failure = outcomeErrorOf(error, this.#options.env.redactor);
      this.#log().error('row failed', { row: row.id, error: failure.message });
      return { ok: false, outcomes: [{ ...this.#notRun(row, ONLY_TURN), status: 'failed', error: failure }], captured: [] };
    }
  }

  async #runWhenReady(row: RowPlan): Promise<RowResult> {
    // Every row is queued before the first one looks for those it waits for.
    await Promise.resolve();
    const needed = [...new Set([...(row.parent === undefined ? [] : [row.parent.row]), ...row.dependsOn])];
    const waited = new Map(await Promise.all(needed.map(async (id) => [id, await this.#resultOf(id)] as const)));
    const missing = needed.find((id) => waited.get(id)?.ok !== true);
    if (missing !== undefined) return this.#skip(row, `\`${missing}\` did not finish`);
    const expansion = expansionOf(row, waited);
    if (expansion.size === 0) {
      this.#log().info('row has nothing to do', { row: row.id, reason: expansion.idle });
      return { ok: true, outcomes: [], captured: [] };
    }
    return this.#runTurns(row, expansion);
  }

  /** A row stands in the line for one turn at a time: the others cost nothing yet, and no row keeps all others waiting. */
  async #runTurns(row: RowPlan, expansion: Expansion): Promise<RowResult> {
    const capture = this.#captureFor(row);
    const running: Promise<InvocationOutcome>[] = [];
    for (const turn of expansion.turns()) {
      const release = await this.#gate.enter();
      running.push(this.#runTurn(row, turn, capture).finally(release));
    }
    const outcomes = await Promise.all(running);
    return { ok: outcomes.every((outcome) => outcome.status === 'completed'), outcomes, captured: capture?.records ?? [] };
  }

  /** Never rejects. */
  async #runTurn(row: RowPlan, turn: Turn, capture: Capture | undefined): Promise<InvocationOutcome> {
    const { env, plan, runId, clock } = this.#options;
    if (this.#stop.aborted) return this.#notRun(row, turn);
    let counted: Tally | undefined;
    const outcome = await runInvocation({
      env,
      plan,
      row,
      runId,
      invocationId: env.ids.next(),
      credentials: this.#credentials,
      tokens: { now: { date: clock, zone: 'UTC' }, records: turn.records },
      turn,
      capture,
      stop: this.#stop,
      kill: this.#kill,
      concurrency: this.#options.concurrency,
      dryRun: this.#options.dryRun ?? false,
      limit: this.#options.limit,
      onStep: this.#options.onStep,
      onPage: (tally) => {
        counted = tally;
        this.#counts.watch(tally);
        this.#tell(row);
      },
    });
    this.#counts.finished();
    this.#counts.retire(counted);
    if (outcome.status === 'failed' && plan.onError === 'stop') this.#stopSiblings(row);
    this.#tell(row);
    return outcome;
  }

  #captureFor(row: RowPlan): Capture | undefined {
    const children = this.#options.plan.rows.filter((other) => other.parent?.row === row.id);
    if (children.length === 0) return undefined;
    const fields = new Set<string>();
    for (const child of children) {
      if (child.parent === undefined || child.parent.fields === 'record' || child.parent.key === '') return new Capture('record');
      for (const field of [...child.parent.fields, child.parent.key.split('.')[0] ?? '']) fields.add(field);
    }
    return new Capture(fields);
  }

  #stopSiblings(row: RowPlan): void {
    if (this.#siblings.signal.aborted) return;
    this.#log().warn('stopping the other rows (execution.on_error is stop)', { failed: row.id });
    this.#siblings.abort(new StopReason('sibling_failed', `row \`${row.id}\` failed and \`execution.on_error\` is \`stop\``));
    setTimeout(() => this.#hardStop.abort(new StopReason('kill', 'the rows did not stop in time')), STOP_GRACE_MS).unref();
  }

  #skip(row: RowPlan, why: string): RowResult {
    this.#log().warn('row skipped', { row: row.id, reason: why });
    const error = { code: 'row_skipped', kind: 'Custom', message: `skipped: ${why}` } as const;
    return { ok: false, outcomes: [{ ...this.#notRun(row, ONLY_TURN), status: 'skipped', error }], captured: [] };
  }

  /** The outcome of an invocation that never started. */
  #notRun(row: RowPlan, turn: Turn): InvocationOutcome {
    const { env } = this.#options;
    const now = env.clock.now().toISOString();
    return {
      invocation_id: env.ids.next(),
      row_id: invocationName(row, turn),
      parent_record_key: turn.key,
      source: row.source.type,
      sink: row.sink.type,
      status: 'cancelled',
      balance: new Tally().balance(),
      bytes_read: 0,
      pages: 0,
      lane: row.lane.lane.form,
      error: null,
      started_at: now,
      finished_at: now,
      duration_ms: 0,
    };
  }

  #tell(row: RowPlan): void {
    this.#options.onProgress?.(this.#counts.progress(row.id));
  }

  #log(): ExecuteOptions['env']['log'] {
    return this.#options.env.log.at('headgate::engine');
  }
}

function expansionOf(row: RowPlan, waited: ReadonlyMap<string, RowResult>): Expansion {
  if (row.parent === undefined) return ONCE;
  return childExpansion(row.id, row.parent, waited.get(row.parent.row)?.captured ?? []);
}

/** As declared, or heaviest first: a stable order, rows without a weight after those with one. */
function queueOrder(plan: Plan): readonly RowPlan[] {
  if (plan.schedule === 'declared') return plan.rows;
  return [...plan.rows].sort((a, b) => (b.weight ?? -1) - (a.weight ?? -1) || a.index - b.index);
}
