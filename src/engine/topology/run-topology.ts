/**
 * Runs a graph: one task a node, bounded edges between them, and an ordinary invocation for each
 * sink node.
 */
import { messageOf, RunError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { PlannedNode, PlannedRow, TopologyPlan } from '../../plan/plan.ts';
import type { InvocationOutcome, NodeOutcome, OutcomeError } from '../../wire/outcome.ts';
import type { ExecuteOptions } from '../engine.ts';
import { SINGLE_ITERATION } from '../expand/iteration.ts';
import { outcomeErrorOf } from '../failure.ts';
import type { Capture } from '../row/invocation.ts';
import { openLogins } from '../logins.ts';
import { PAGE_BYTES } from '../row/parts.ts';
import type { Observers } from '../observe/observers.ts';
import { OutputClaims } from '../row/output-claims.ts';
import type { InvocationRequest } from '../row/request.ts';
import { runInvocation } from '../row/run-invocation.ts';
import { notStartedOutcome } from '../schedule/not-started.ts';
import { Scheduler, type Ended, type Task, type WorkUnit } from '../schedule/scheduler.ts';
import { Tally } from '../row/tally.ts';
import { Channel } from './channel.ts';
import type { GraphRun } from './graph-run.ts';
import { runJoin, runMerge, runTee, runTransform, type InnerWork } from './inner-nodes.ts';
import { assertBalanced, NodeAccount } from './node-account.ts';
import { NodeQueue } from './node-queue.ts';
import { withoutSourceSeries } from './node-metrics.ts';
import { PageSpill } from './page-spill.ts';
import { Acknowledgements, Positions } from './positions.ts';
import { rowReading } from './sink-node.ts';
import { readSource, type ReadSource } from './source-node.ts';

/** After `on_error: stop` the other nodes have this long to flush before everything is ended. */
const STOP_GRACE_MS = 30_000;

export interface TopologyOutcome {
  readonly invocations: readonly InvocationOutcome[];
  readonly nodes: readonly NodeOutcome[];
  readonly failure: OutcomeError | null;
}

/** Who looks on while a graph runs. */
export interface Onlookers {
  readonly observers?: Observers;
  /** Keeps what each sink would be given. */
  readonly captureFor?: (row: PlannedRow) => Capture | undefined;
}

export async function runTopology(
  options: ExecuteOptions,
  onlookers: Onlookers = {},
): Promise<TopologyOutcome> {
  const { topology } = options.plan;
  if (topology === undefined) throw new Error('cannot happen: the plan has no graph');
  return new GraphExecution(options, topology, onlookers).run();
}

interface NodeEnded extends Ended {
  /** Of sink nodes. */
  readonly invocation?: InvocationOutcome;
}

/** A node is one task and starts at once. */
function unitOf(id: string, task: Task<NodeEnded>): WorkUnit<NodeEnded> {
  return {
    id,
    dependsOn: [],
    expand: () => Promise.resolve([task]),
    notStarted: () => task.cancelled(),
  };
}

class GraphExecution {
  readonly #run: GraphRun;
  readonly #onlookers: Onlookers;
  readonly #channels: readonly Channel[];
  readonly #accounts: readonly NodeAccount[];
  readonly #read = new Map<string, ReadSource>();
  readonly #tallies = new Map<string, Tally>();
  /** Nodes that failed by themselves, in order. */
  readonly #failures = new Map<string, OutcomeError>();
  /** Errors as passed on to the nodes behind the failed ones. */
  readonly #described = new WeakSet<object>();
  readonly #broken = new Set<string>();
  readonly #scheduler: Scheduler<NodeEnded>;
  #sinksDone = 0;

  constructor(options: ExecuteOptions, topology: TopologyPlan, onlookers: Onlookers) {
    const { env, plan, signal, killSignal } = options;
    // All nodes run at the same time: edges order them, not slots.
    this.#scheduler = new Scheduler({
      maxConcurrent: Number.POSITIVE_INFINITY,
      onError: plan.onError,
      order: 'declared',
      signal,
      killSignal,
      stopGraceMs: STOP_GRACE_MS,
      noun: 'node',
      log: env.log.at('headgate::engine'),
    });
    const { stop, kill } = this.#scheduler;
    const sinks = plan.rows.map((row) => row.id);
    this.#onlookers = onlookers;
    this.#run = {
      options,
      topology,
      credentials: options.credentials ?? openLogins(options, kill),
      tokens: { now: { date: options.clock, zone: options.zone ?? 'UTC' }, records: new Map() },
      positions: new Positions({
        sinks,
        startsOver: topology.startsOver,
        stop,
        onReplay: (reason) =>
          this.#log().warn('everything is read again: stored positions are of no use', { reason }),
      }),
      acknowledgements: new Acknowledgements(sinks),
      claims: new OutputClaims(env.cwd),
      closers: new AsyncDisposableStack(),
      stop: AbortSignal.any([stop, kill]),
      kill,
    };
    this.#channels = topology.edges.map(
      ({ capacity, spills }) =>
        new Channel({
          capacity,
          capacityBytes: 2 * PAGE_BYTES,
          ...(spills ? { spill: new PageSpill() } : {}),
        }),
    );
    this.#accounts = topology.nodes
      .filter(({ kind }) => kind !== 'sink')
      .map((node) => new NodeAccount(node, this.#edges('from', node.id).channels));
  }

  async run(): Promise<TopologyOutcome> {
    const { options, stop, closers } = this.#run;
    const halt = (): void => this.#channels.forEach((channel) => channel.leave());
    stop.addEventListener('abort', halt, { once: true });
    if (stop.aborted) halt();
    try {
      const ended = await this.#scheduler.run([
        ...this.#accounts.map((account) => this.#nodeUnit(account)),
        ...options.plan.rows.map((row) => this.#sinkUnit(row)),
      ]);
      const invocations = ended.flatMap(({ invocation }) => invocation ?? []);
      return {
        invocations,
        nodes: this.#accounts.map((account) => account.outcome(stop.aborted)),
        failure: await this.#verdict(invocations),
      };
    } finally {
      stop.removeEventListener('abort', halt);
      halt();
      await closers
        .disposeAsync()
        .catch((error: unknown) => this.#log().warn('closing failed', { error: String(error) }));
    }
  }

  async #verdict(invocations: readonly InvocationOutcome[]): Promise<OutcomeError | null> {
    const { options, stop, topology } = this.#run;
    const [first] = this.#failures;
    if (first !== undefined) {
      const [id, error] = first;
      return {
        ...error,
        message: `${this.#failures.size} topology node(s) failed: ${id}: ${error.message}`,
      };
    }
    if (stop.aborted) return null;
    try {
      assertBalanced(this.#accounts, this.#channels);
      const isWhole = options.dryRun !== true && options.limit === undefined;
      if (
        topology.startsOver !== undefined &&
        isWhole &&
        invocations.every(({ status }) => status === 'completed')
      )
        await this.#acknowledgeAll();
      return null;
    } catch (error) {
      return outcomeErrorOf(error, options.env.redactor);
    }
  }

  /**
   * Where positions are not stored, a source gets one acknowledgement after everything has arrived.
   */
  async #acknowledgeAll(): Promise<void> {
    for (const read of this.#read.values()) {
      const last = read.last();
      if (last !== undefined) await read.acknowledge(last);
    }
  }

  #nodeUnit(account: NodeAccount): WorkUnit<NodeEnded> {
    const { id } = account.node;
    const cancelled = (): NodeEnded => {
      for (const channel of [
        ...this.#edges('to', id).channels,
        ...this.#edges('from', id).channels,
      ])
        channel.leave();
      return { status: 'cancelled' };
    };
    const run = async (): Promise<NodeEnded> => ({ status: await this.#runNode(account) });
    return unitOf(id, { run, cancelled });
  }

  #sinkUnit(row: PlannedRow): WorkUnit<NodeEnded> {
    const cancelled = (): NodeEnded => {
      const { positions, acknowledgements, options } = this.#run;
      positions.gone(row.id);
      acknowledgements.abandon();
      for (const channel of this.#edges('to', row.id).channels) channel.leave();
      const invocation = notStartedOutcome(row, SINGLE_ITERATION, options.env);
      return { status: invocation.status, invocation };
    };
    const run = async (): Promise<NodeEnded> => {
      const invocation = await this.#runSink(row);
      return { status: invocation.status, invocation };
    };
    return unitOf(row.id, { run, cancelled });
  }

  async #runNode(account: NodeAccount): Promise<NodeEnded['status']> {
    const { node } = account;
    const { env, plan } = this.#run.options;
    const into = this.#edges('to', node.id);
    const outputs = this.#edges('from', node.id).channels;
    const labels = { pipeline: plan.name, row: node.id };
    const queue = this.#queueOf(account);
    const work: InnerWork = {
      run: this.#run,
      account,
      inputs: into.channels,
      edges: into.edges,
      outputs,
      queue,
      labels,
    };
    env.log.at('headgate::engine').info('node started', { node: node.id, kind: node.kind });
    try {
      await this.#work(node, work);
      await queue?.finish(this.#run.stop.aborted ? 'cancelled' : 'success');
      for (const output of outputs) output.end();
      this.#log().info('node ended', {
        node: node.id,
        kind: node.kind,
        records_in: account.in,
        records_out: account.out,
      });
      return 'completed';
    } catch (error) {
      const described = this.#nodeFailed(account, error);
      await this.#closeFailed(account, queue);
      for (const output of outputs) output.fail(described);
      return 'failed';
    } finally {
      for (const input of into.channels) input.leave();
    }
  }

  #queueOf(account: NodeAccount): NodeQueue | undefined {
    const { dlq } = this.#run.topology;
    return dlq === undefined ? undefined : new NodeQueue({ run: this.#run, account }, dlq);
  }

  #work(node: PlannedNode, work: InnerWork): Promise<void> {
    switch (node.kind) {
      case 'source':
        return readSource(node.source, work, {
          onOpen: (read) => this.#read.set(node.id, read),
          sampler: this.#onlookers.observers?.samplerOf(node.id),
        });
      case 'transform':
        return runTransform(node.transforms, work);
      case 'tee':
        return runTee(work);
      case 'merge':
        return runMerge(work);
      case 'join':
        return runJoin(node.join, work);
      case 'sink':
        throw new Error('cannot happen: a sink node runs as a row');
      default:
        return node satisfies never;
    }
  }

  /** What is in its queue is kept; a second failure does not hide the first. */
  async #closeFailed({ node }: NodeAccount, queue: NodeQueue | undefined): Promise<void> {
    await queue?.finish('failed').catch((error: unknown) =>
      this.#log().warn('another failure while the failed node was closed', {
        node: node.id,
        error: messageOf(error),
      }),
    );
  }

  /** The error for the nodes behind it. A failure of an earlier node is passed on unchanged. */
  #nodeFailed(account: NodeAccount, error: unknown): unknown {
    const { env } = this.#run.options;
    if (typeof error === 'object' && error !== null && this.#described.has(error)) return error;
    const { id } = account.node;
    const failure = outcomeErrorOf(error, env.redactor);
    account.failure = failure;
    const stack = failure.kind === 'Panic' && error instanceof Error ? { stack: error.stack } : {};
    this.#log().error('node failed', { node: id, error: failure.message, ...stack });
    const hint = failure.hint === undefined ? {} : { hint: failure.hint };
    const described = new RunError(
      failure.kind,
      failure.code,
      `node \`${id}\`: ${failure.message}`,
      {
        cause: error,
        ...hint,
      },
    );
    this.#described.add(described);
    this.#failed(id, failure);
    return described;
  }

  async #runSink(row: PlannedRow): Promise<InvocationOutcome> {
    const { options, positions, kill, stop, credentials, tokens, claims } = this.#run;
    const { env, plan } = options;
    const [channel] = this.#edges('to', row.id).channels;
    if (channel === undefined) throw new Error(`cannot happen: nothing leads to ${row.id}`);
    const reader = {
      channel,
      positions,
      onBroken: () => void this.#broken.add(row.id),
      acknowledge: (bookmark: JsonValue) => this.#acknowledge(row.id, bookmark),
    };
    const request: InvocationRequest = {
      env: { ...env, metrics: withoutSourceSeries(env.metrics) },
      plan,
      row: rowReading(row, reader),
      runId: options.runId,
      fence: options.fence,
      invocationId: env.ids.next(),
      credentials,
      tokens,
      iteration: SINGLE_ITERATION,
      capture: this.#onlookers.captureFor?.(row),
      stop,
      kill,
      concurrency: options.concurrency,
      dryRun: options.dryRun,
      limit: options.limit,
      hasReceipt: options.hasReceipt,
      onFailpoint: options.onFailpoint,
      claims,
    };
    const { observers } = this.#onlookers;
    const outcome = await runInvocation(request, {
      observers,
      sampledSources: observers?.sampledSources ?? new Map(),
      agree: (own) => positions.agree(row.id, own),
      onPage: (tally) => {
        this.#tallies.set(row.id, tally);
        this.#reportProgress(row.id);
      },
    });
    positions.gone(row.id);
    channel.leave();
    this.#sinksDone += 1;
    if (outcome.status !== 'completed') this.#run.acknowledgements.abandon();
    if (outcome.error !== null && !this.#broken.has(row.id)) this.#failed(row.id, outcome.error);
    this.#reportProgress(row.id);
    return outcome;
  }

  async #acknowledge(sink: string, bookmark: JsonValue): Promise<void> {
    const reached = this.#run.acknowledgements.reached(sink, bookmark);
    if (reached !== undefined)
      for (const read of this.#read.values()) await read.acknowledge(reached);
  }

  #failed(id: string, failure: OutcomeError): void {
    this.#failures.set(id, failure);
    this.#scheduler.failed(id);
  }

  #reportProgress(row: string): void {
    const { onProgress } = this.#run.options;
    const sources = this.#accounts.filter(({ node }) => node.kind === 'source');
    const tallies = [...this.#tallies.values()];
    onProgress?.({
      records_read: sources.reduce((sum, account) => sum + account.in, 0),
      bytes_read: sources.reduce((sum, account) => sum + account.bytes, 0),
      records_written: tallies.reduce((sum, tally) => sum + tally.written, 0),
      records_dead_lettered: [...tallies, ...this.#accounts].reduce(
        (sum, { deadLettered }) => sum + deadLettered,
        0,
      ),
      row_id: row,
      invocations_done: this.#sinksDone,
    });
  }

  /** The edges that leave or reach a node, with their channels. */
  #edges(end: 'from' | 'to', id: string) {
    const indexes = this.#run.topology.edges.flatMap((edge, index) =>
      edge[end] === id ? [index] : [],
    );
    const edges = indexes.flatMap((index) => this.#run.topology.edges[index] ?? []);
    return { edges, channels: indexes.flatMap((index) => this.#channels[index] ?? []) };
  }

  #log(): ExecuteOptions['env']['log'] {
    return this.#run.options.env.log.at('headgate::engine');
  }
}
