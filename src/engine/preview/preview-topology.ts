/**
 * What each sink of a graph would be given, after transforms, joins and masking. Opens no sink and
 * no state store.
 */
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { maskingBlock } from '../../blocks/masking/index.ts';
import { blockOf, onlyBlocks, withBlock } from '../../blocks/define-block.ts';
import { RunError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import type { ExecuteOptions } from '../engine.ts';
import { Capture } from '../row/invocation.ts';
import { runTopology } from '../topology/run-topology.ts';

export interface PreviewTopologyOptions extends Pick<
  ExecuteOptions,
  'plan' | 'parts' | 'env' | 'clock' | 'signal'
> {
  /** Records of each sink. */
  readonly limit: number;
}

/** By sink node, in the order of the document. */
export async function previewTopology(
  options: PreviewTopologyOptions,
): Promise<ReadonlyMap<string, readonly JsonValue[]>> {
  const rows = options.plan.rows.map(onlyMasked);
  const captures = new Map(rows.map((row) => [row.id, new Capture('record')]));
  const plan = { ...options.plan, rows };
  const { failure } = await runTopology(
    { ...options, plan, runId: options.env.ids.next(), dryRun: true },
    { captureFor: (row) => captures.get(row.id) },
  );
  if (failure !== null) {
    throw new RunError(
      failure.kind,
      failure.code,
      failure.message,
      failure.hint === undefined ? {} : { hint: failure.hint },
    );
  }
  return new Map([...captures].map(([id, { records }]) => [id, records.slice(0, options.limit)]));
}

function onlyMasked(row: PlannedRow): PlannedRow {
  const resilience = blockOf(row, resilienceBlock);
  const masked = { ...row, blocks: onlyBlocks(row, [maskingBlock]) };
  return {
    ...withBlock(
      masked,
      resilienceBlock,
      resilience && { ...resilience, poison: undefined, breaker: undefined },
    ),
    state: undefined,
    dlq: undefined,
    delivery: 'at_least_once',
  };
}
