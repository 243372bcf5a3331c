import { RunError } from '../../lib/errors.ts';
import type { PlannedNode } from '../../plan/plan.ts';
import type { NodeOutcome, OutcomeError } from '../../wire/outcome.ts';
import type { Channel } from './channel.ts';

/** Counts where the records of a node went. */
export class NodeAccount {
  in = 0;
  filtered = 0;
  expanded = 0;
  deadLettered = 0;
  bytes = 0;
  failure: OutcomeError | undefined;
  readonly node: PlannedNode;
  readonly #outputs: readonly Channel[];

  constructor(node: PlannedNode, outputs: readonly Channel[]) {
    this.node = node;
    this.#outputs = outputs;
  }

  get out(): number {
    return this.#outputs.reduce((sum, channel) => sum + channel.offered, 0);
  }

  outcome(stopped: boolean): NodeOutcome {
    return {
      id: this.node.id,
      kind: this.node.kind,
      status: this.failure !== undefined ? 'failed' : stopped ? 'cancelled' : 'completed',
      records_in: this.in,
      filtered: this.filtered,
      expanded: this.expanded,
      records_out: this.out,
      ...(this.deadLettered === 0 ? {} : { dead_lettered: this.deadLettered }),
      error: this.failure ?? null,
    };
  }
}

/**
 * A run whose graph lost or duplicated records has failed. Pages dropped because the consumer left
 * are not lost.
 */
export function assertBalanced(
  accounts: readonly NodeAccount[],
  channels: readonly Channel[],
): void {
  for (const account of accounts) {
    const { node, filtered, expanded, deadLettered, out } = account;
    if (account.in - filtered + expanded - deadLettered === out) continue;
    throw unbalanced(
      `node \`${node.id}\` took ${account.in} records - ${filtered} filtered + ${expanded} expanded - ${deadLettered} dead-lettered, and handed on ${out}`,
    );
  }
  const open = channels.find((channel) => !channel.left && channel.offered !== channel.received);
  if (open !== undefined)
    throw unbalanced(`of ${open.offered} records on an edge ${open.received} arrived`);
}

function unbalanced(what: string): RunError {
  return new RunError('Custom', 'balance_open', `the records do not add up: ${what}`, {
    hint: 'some records are unaccounted for; do not trust the destinations before a re-run',
  });
}
