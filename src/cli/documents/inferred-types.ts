/** The types of rows before they run; those that are inferred are read from local files. */
import { describedTypes } from '../../engine/stages/row-types.ts';
import {
  describedRowTypes,
  infersTypes,
  type RowTypes,
} from '../../features/plan-view/stage-types.ts';
import type { Parts } from '../../kit/parts.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { CliContext } from '../framework/context.ts';
import { listenForStop } from '../framework/signals.ts';

export type TypesOfRow = (row: PlannedRow) => RowTypes;

interface PlanOfRows {
  readonly plan: Plan;
  readonly parts: Parts;
}

export async function inferredTypes(
  context: CliContext,
  { rows, ...plan }: PlanOfRows & { readonly rows: readonly PlannedRow[] },
): Promise<TypesOfRow> {
  const inferred = new Map<PlannedRow, RowTypes>();
  for (const row of rows) if (isLocal(row)) inferred.set(row, await inferredOf(context, plan, row));
  const others = rows.filter((row) => !inferred.has(row));
  const described = await describedRowTypes(others, context.envAt('error'));
  return (row) => inferred.get(row) ?? described(row);
}

function isLocal(row: PlannedRow): boolean {
  const { parsed, definition } = row.source;
  return infersTypes(row) && parsed !== undefined && definition.localPath?.(parsed) !== undefined;
}

async function inferredOf(
  context: CliContext,
  { plan, parts }: PlanOfRows,
  row: PlannedRow,
): Promise<RowTypes> {
  const { world } = context;
  using stops = listenForStop(world, 'cancel', () => {});
  const { firstSchema } = await import('../../engine/preview/preview.ts');
  const env = context.envAt('error');
  const clock = world.clock.now();
  try {
    const schema = await firstSchema({ plan, parts, env, row, clock, signal: stops.signal });
    return { stages: await describedTypes(row, { env, source: schema }) };
  } catch (error) {
    const pending = `inferred from records that cannot be read now: ${messageOf(error)}`;
    return { stages: await describedTypes(row, { env }), pending };
  }
}
