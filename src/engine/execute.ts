/** Executes a plan: which invocations there are, in what order they start, and what the whole comes to. */
import { Gate } from '../lib/gate.ts';
import { RunError, StopReason } from '../lib/errors.ts';
import { isObject, type JsonValue } from '../lib/json.ts';
import { createCredentials } from '../credentials/index.ts';
import type { Credentials } from '../kit/context.ts';
import type { Plan, RowPlan } from '../plan/plan.ts';
import type { RuntimeTokens } from '../plan/resolve.ts';
import type { InvocationOutcome, OutcomeError, Progress, RunOutcome } from '../wire/outcome.ts';
import type { ExecuteOptions } from './engine.ts';
import { outcomeErrorOf } from './failure.ts';
import { Capture } from './invocation.ts';
import { parentKeyText, type ParentRecord } from './open.ts';
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
  /** Counts of the invocations that are executing, and the sum of those that have ended. */
  readonly #live = new Set<Tally>();
  readonly #ended = new Tally();
  readonly #siblings = new AbortController();
  readonly #hardStop = new AbortController();
  readonly #stop: AbortSignal;
  readonly #kill: AbortSignal;
  #done = 0;

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
      return { ok: false, outcomes: [{ ...this.#notRun(row, undefined, ''), status: 'failed', error: failure }], captured: [] };
    }
  }

  async #runWhenReady(row: RowPlan): Promise<RowResult> {
    // Every row is queued before the first one looks for those it waits for.
    await Promise.resolve();
    const needed = [...new Set([...(row.parent === undefined ? [] : [row.parent.row]), ...row.dependsOn])];
    const waited = await Promise.all(needed.map(async (id) => ({ id, result: await this.#resultOf(id) })));
    const missing = waited.find(({ result }) => !result.ok);
    if (missing !== undefined) return this.#skip(row, `\`${missing.id}\` did not finish`);
    if (row.parent === undefined) return this.#runInvocations(row, [undefined]);
    const parentRow = row.parent.row;
    const captured = waited.find(({ id }) => id === parentRow)?.result.captured ?? [];
    if (captured.length === 0) {
      this.#log().info('row has nothing to do: its parent gave no records', { row: row.id, parent: parentRow });
      return { ok: true, outcomes: [], captured: [] };
    }
    return this.#runInvocations(row, parentRecords(row, row.parent.key, captured));
  }

  async #runInvocations(row: RowPlan, parents: readonly (ParentRecord | undefined)[]): Promise<RowResult> {
    const capture = this.#captureFor(row);
    const outcomes = await Promise.all(parents.map((parent) => this.#runOne(row, parent, capture)));
    return { ok: outcomes.every((outcome) => outcome.status === 'completed'), outcomes, captured: capture?.records ?? [] };
  }

  async #runOne(row: RowPlan, parent: ParentRecord | undefined, capture: Capture | undefined): Promise<InvocationOutcome> {
    const { env, plan, runId } = this.#options;
    const release = await this.#gate.enter();
    let counted: Tally | undefined;
    try {
      if (this.#stop.aborted) return this.#notRun(row, parent, 'the run was stopped before the row started');
      const outcome = await runInvocation({
        env,
        plan,
        row,
        runId,
        invocationId: env.ids.next(),
        credentials: this.#credentials,
        tokens: this.#tokens(row, parent),
        parent,
        capture,
        stop: this.#stop,
        kill: this.#kill,
        concurrency: this.#options.concurrency,
        dryRun: this.#options.dryRun ?? false,
        limit: this.#options.limit,
        onPage: (tally) => {
          counted = tally;
          this.#live.add(tally);
          this.#progress(row);
        },
      });
      this.#done += 1;
      if (outcome.status === 'failed' && plan.onError === 'stop') this.#stopSiblings(row);
      return outcome;
    } finally {
      if (counted !== undefined) this.#retire(counted);
      this.#progress(row);
      release();
    }
  }

  #retire(tally: Tally): void {
    this.#live.delete(tally);
    this.#ended.read += tally.read;
    this.#ended.written += tally.written;
    this.#ended.deadLettered += tally.deadLettered;
    this.#ended.bytes += tally.bytes;
  }

  #tokens(row: RowPlan, parent: ParentRecord | undefined): RuntimeTokens {
    const records = new Map<string, JsonValue>();
    if (row.parent !== undefined && parent !== undefined) records.set(row.parent.row, parent.record);
    return { now: { date: this.#options.clock, zone: 'UTC' }, records };
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
    return { ok: false, outcomes: [this.#notRun(row, undefined, `skipped: ${why}`, 'skipped')], captured: [] };
  }

  #notRun(
    row: RowPlan,
    parent: ParentRecord | undefined,
    message: string,
    status: 'skipped' | 'cancelled' = 'cancelled',
  ): InvocationOutcome {
    const { env } = this.#options;
    const now = env.clock.now().toISOString();
    return {
      invocation_id: env.ids.next(),
      row_id: row.id,
      parent_record_key: parent?.key ?? null,
      source: row.source.type,
      sink: row.sink.type,
      status,
      balance: { read: 0, filtered: 0, expanded: 0, transformed: 0, written: 0, dead_lettered: 0, withheld: 0 },
      bytes_read: 0,
      pages: 0,
      lane: row.lane.lane.form,
      error: status === 'skipped' ? { code: 'row_skipped', kind: 'Custom', message } : null,
      started_at: now,
      finished_at: now,
      duration_ms: 0,
    };
  }

  #progress(row: RowPlan): void {
    const { onProgress } = this.#options;
    if (onProgress === undefined) return;
    const sum = { records_read: 0, records_written: 0, records_dead_lettered: 0, bytes_read: 0 };
    for (const tally of [this.#ended, ...this.#live]) {
      sum.records_read += tally.read;
      sum.records_written += tally.written;
      sum.records_dead_lettered += tally.deadLettered;
      sum.bytes_read += tally.bytes;
    }
    const progress: Progress = { ...sum, row_id: row.id, invocations_done: this.#done };
    onProgress(progress);
  }

  #log(): ExecuteOptions['env']['log'] {
    return this.#options.env.log.at('headgate::engine');
  }
}

/** As declared, or heaviest first: a stable order, rows without a weight after those with one. */
function queueOrder(plan: Plan): readonly RowPlan[] {
  if (plan.schedule === 'declared') return plan.rows;
  return [...plan.rows].sort((a, b) => (b.weight ?? -1) - (a.weight ?? -1) || a.index - b.index);
}

/** One invocation a record; two records with the same key would share a bookmark, so that is refused before any starts. */
function parentRecords(row: RowPlan, keyPath: string, captured: readonly JsonValue[]): ParentRecord[] {
  const seen = new Set<string>();
  return captured.map((record) => {
    const key = parentKeyText(isObject(record) ? record : {}, keyPath);
    if (seen.has(key)) {
      throw new RunError('Config', 'duplicate_state_key', `row \`${row.id}\`: two parent records have the same \`${keyPath}\`: ${key}`, {
        hint: 'name a `parent_key` whose values are unique',
      });
    }
    seen.add(key);
    return { key, record };
  });
}
