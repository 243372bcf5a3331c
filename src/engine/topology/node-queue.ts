/**
 * Dead letters of the nodes before the sinks: records that a source cannot read, or that a transform
 * puts aside. They are durable before the page that they were taken out of goes on, so that no sink
 * stores a position behind them.
 */
import type { DlqPlan } from '../../blocks/dlq/plan.ts';
import type { FinishReason } from '../../kit/sink.ts';
import type { PlannedTransform, TopologyPlan } from '../../plan/plan.ts';
import { DeadLetters } from '../dlq/dead-letters.ts';
import { hiddenWith, keepsNames, nodeMaskOf } from '../dlq/hide-dead-letter.ts';
import { openSink } from '../row/open.ts';
import type { HideRecord } from '../stages/hide-masked.ts';
import type { DeadRecord } from '../stages/stage.ts';
import { nodeContext, type GraphRun, type NodeDeadLetters, type NodeWork } from './graph-run.ts';

export class NodeQueue implements NodeDeadLetters {
  readonly #work: Pick<NodeWork, 'run' | 'account'>;
  readonly #plan: DlqPlan;
  /** A node that puts nothing aside opens nothing. */
  #opened: DeadLetters | undefined;

  constructor(work: Pick<NodeWork, 'run' | 'account'>, plan: DlqPlan) {
    this.#work = work;
    this.#plan = plan;
  }

  /** Throws when a budget is overrun, once they are durable. */
  async put(dead: readonly DeadRecord[]): Promise<void> {
    if (dead.length === 0) return;
    const queue = (this.#opened ??= await this.#open());
    await queue.write(dead);
    await queue.flush();
    this.#work.account.deadLettered += dead.length;
    const ending = queue.budgetError(dead.length);
    if (ending !== undefined) throw ending;
  }

  async #open(): Promise<DeadLetters> {
    const { run, account } = this.#work;
    const { env, plan, runId, onFailpoint } = run.options;
    const { id } = account.node;
    const context = { ...nodeContext(run, id), runId, role: 'dlq' } as const;
    const { sink } = await openSink(
      { ...run.options, tokens: run.tokens },
      this.#plan.sink,
      context,
      run.closers,
    );
    const behind = nodesBehind(id, run.topology);
    const sinks = plan.rows.filter((each) => behind.has(each.id));
    const hide = hideForNode(id, run);
    return new DeadLetters({
      env,
      plan: this.#plan,
      sink,
      fence: run.options.fence,
      pipeline: plan.name,
      row: id,
      sinkType: [...new Set(sinks.map(({ sink: { type } }) => type))].join('+'),
      hitFailpoint: onFailpoint && ((failpoint) => onFailpoint(failpoint, { row: id, page: 0 })),
      hide: hide && hiddenWith(hide),
    });
  }

  async finish(reason: FinishReason): Promise<void> {
    await this.#opened?.finish(reason);
  }
}

/** Hides in a record as a node gets it what masking hides at the sinks. */
export function hideForNode(
  id: string,
  { options: { plan }, topology }: Pick<GraphRun, 'options' | 'topology'>,
): HideRecord | undefined {
  const [row] = plan.rows;
  if (row === undefined) return undefined;
  return nodeMaskOf(row, transformsOf(nodesBehind(id, topology), topology));
}

/** The node, and all that its records can reach. */
export function nodesBehind(id: string, { edges }: TopologyPlan): ReadonlySet<string> {
  const reached = new Set([id]);
  // A set grows while it is walked.
  for (const one of reached) for (const { from, to } of edges) if (from === one) reached.add(to);
  return reached;
}

/**
 * What becomes of fields on the way to masking, which is a matter of the sinks; `undefined` where
 * that cannot be said of a field.
 */
export function transformsOf(
  behind: ReadonlySet<string>,
  { nodes }: TopologyPlan,
): readonly PlannedTransform[] | undefined {
  const passed = nodes.filter(({ id }) => behind.has(id));
  if (passed.some(({ kind }) => kind === 'join')) return undefined;
  const transforms = passed.flatMap((node) => (node.kind === 'transform' ? node.transforms : []));
  const hasBranches = passed.some(({ kind }) => kind === 'tee');
  return hasBranches && !transforms.every((one) => keepsNames(one)) ? undefined : transforms;
}
