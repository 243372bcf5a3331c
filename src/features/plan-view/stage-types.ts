/** The types of fields after the stages of a row, as text and as JSON. */
import {
  describedTypes,
  hasDescribedTypes,
  typesAfterStages,
  type StageTypes,
} from '../../engine/stages/row-types.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { Env } from '../../lib/env.ts';
import { schemaText, typeText } from '../../kit/type-text.ts';
import { count, thousands } from '../../lib/text/count.ts';
import type { PlannedRow } from '../../plan/plan.ts';

/** What is known of the types of a row before it runs. */
export interface RowTypes {
  readonly stages: readonly StageTypes[];
  /** Why inferred types are not known. */
  readonly pending?: string | undefined;
}

/** Nothing is read. */
export function rowTypes(row: PlannedRow): RowTypes {
  return withPending(row, typesAfterStages(row));
}

/** Transforms are compiled for so many rows; of others only what needs none is said. */
const MOST_DESCRIBED = 50;

/** Reference data of transforms may be read; nothing of the source is. */
export async function describedRowTypes(
  rows: readonly PlannedRow[],
  env: Env,
): Promise<(row: PlannedRow) => RowTypes> {
  const described = new Map<PlannedRow, RowTypes>();
  for (const row of rows.filter(hasDescribedTypes).slice(0, MOST_DESCRIBED))
    described.set(row, withPending(row, await describedTypes(row, { env })));
  return (row) => described.get(row) ?? rowTypes(row);
}

function withPending(row: PlannedRow, stages: readonly StageTypes[]): RowTypes {
  if (!infersTypes(row)) return { stages };
  return {
    stages,
    pending: 'inferred from the first records when they are read; `plan --live` shows them',
  };
}

export function infersTypes({ source: { parsed, judged, definition } }: PlannedRow): boolean {
  const config = parsed ?? judged;
  return config !== undefined && definition.infersTypes?.(config) === true;
}

/** One line for each stage of which something is known: `source: id: int64, …`. */
export function formatTypes({ stages, pending }: RowTypes): string[] {
  const known = stages.flatMap(({ stage, schema }) =>
    schema === undefined ? [] : [`${stage}: ${schemaText(schema)}`],
  );
  return pending === undefined ? known : [`source: ${pending}`, ...known];
}

/** What types were inferred from, field by field: `id is int64 in 1,000 values`. */
export function formatEvidence(schema: RecordSchema | undefined): string[] {
  return (schema?.fields ?? []).flatMap(({ name, type, evidence }) => {
    if (evidence === undefined) return [];
    const { values, empty, because } = evidence;
    const others = empty === 0 ? '' : `, ${thousands(empty)} empty`;
    const why = because === undefined ? '' : `: ${because}`;
    return [`${name} is ${typeText(type)} in ${count(values, 'value')}${others}${why}`];
  });
}

/** Empty where nothing is known of any stage. */
export function typesDocument({ stages: types, pending }: RowTypes): Record<string, unknown> {
  const later = pending === undefined ? {} : { types_pending: pending };
  if (types.every(({ schema }) => schema === undefined)) return later;
  return {
    ...later,
    types: types.map(({ stage, schema }) => ({
      stage,
      fields: (schema?.fields ?? []).map(({ name, type, nullable, evidence }) => ({
        name,
        type: typeText(type),
        nullable,
        ...(evidence === undefined ? {} : { inferred: { ...evidence } }),
      })),
      other_fields: schema?.others ?? schema === undefined,
    })),
  };
}
