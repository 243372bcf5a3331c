import type { Placed } from '../../document/parse/read-blocks.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { BlockTools, RowPlace, WithoutEffect } from '../define-block.ts';
import type { AdaptiveBatchSpec, ExecutionSpec } from './schema.ts';

/** How the rows of a plan run beside each other. */
export interface ExecutionOfPlan {
  readonly maxConcurrent: number;
  readonly onError: 'continue' | 'stop';
  /** Order in which ready rows queue: as declared, or heaviest first. */
  readonly schedule: 'declared' | 'lpt';
}

export interface ExecutionOfRow {
  /** How batch sizes adapt; `undefined` when pages are written whole. */
  readonly adaptiveBatch: AdaptiveBatchSpec | undefined;
}

export function planExecution(
  given: Placed<ExecutionSpec> | undefined,
  { cpus }: BlockTools,
): ExecutionOfPlan {
  const execution = given?.value;
  return {
    maxConcurrent: execution?.max_concurrent ?? Math.min(Math.max(Math.floor(cpus) || 4, 1), 8),
    onError: execution?.on_error ?? 'continue',
    schedule: execution?.schedule ?? 'declared',
  };
}

export function planBatches(given: Placed<ExecutionSpec> | undefined): ExecutionOfRow {
  const adaptive = given?.value.adaptive_batch_size;
  return { adaptiveBatch: adaptive?.enabled === true ? adaptive : undefined };
}

/** A page that is committed with its watermark goes as a whole or not at all. */
export function checkBatches(
  given: Placed<ExecutionSpec> | undefined,
  { name, guarantee }: AssembledRow,
  { issues }: RowPlace,
): void {
  const { adaptiveBatch } = planBatches(given);
  if (adaptiveBatch === undefined || guarantee !== 'effectively-once (atomic watermark)') return;
  const message = `\`adaptive_batch_size\` has no effect for ${name}: with \`exactly_once\` each page is one commit`;
  issues.warn('without_effect', 'execution.adaptive_batch_size', message);
}

/** All nodes of a graph run at the same time. */
export function executionBesideNodes({
  max_concurrent: maxConcurrent,
  schedule,
}: ExecutionSpec): readonly WithoutEffect[] {
  const why = 'has no effect: all nodes of a graph run at the same time';
  return [
    ...(maxConcurrent === undefined
      ? []
      : [{ key: 'max_concurrent', message: `\`max_concurrent\` ${why}` }]),
    ...(schedule === 'lpt' ? [{ key: 'schedule', message: `\`schedule\` ${why}` }] : []),
  ];
}
