/** What is known of the fields of a row after each of its stages, without running them. */
import type { Env } from '../../lib/env.ts';
import { maskingRulesFor } from '../../blocks/masking/schema.ts';
import { knownSchema, UNKNOWN_SCHEMA, type RecordSchema } from '../../kit/record-schema.ts';
import type { PlannedRow, PlannedTransform } from '../../plan/plan.ts';
import { governanceOf } from './governance.ts';
import { maskingSchema } from './masking-schema.ts';
import type { SchemaChange } from './page-schema.ts';

export interface StageTypes {
  /** `source`, `transform` with its type, or the name of another stage. */
  readonly stage: string;
  /** Absent when nothing is known. */
  readonly schema: RecordSchema | undefined;
}

/**
 * `source` is what is known of the records as they are read. Nothing is opened: what only compiled
 * transforms can say is not known.
 */
export function typesAfterStages(
  row: PlannedRow,
  source: RecordSchema | undefined = declaredTypes(row),
): StageTypes[] {
  const types = new TypesOfStages(source);
  for (const transform of row.transforms) types.add(stageOf(transform), changeOf(transform));
  for (const change of maskingOf(row)) types.add('masking', change);
  return types.stages;
}

/** With transforms that have to be compiled for it, which may read their reference data. */
export async function describedTypes(
  row: PlannedRow,
  {
    env,
    source = declaredTypes(row),
  }: { readonly env: Env; readonly source?: RecordSchema | undefined },
): Promise<StageTypes[]> {
  const types = new TypesOfStages(source);
  for (const transform of row.transforms) {
    const change = await describedChange(transform, env, types.schema);
    types.add(stageOf(transform), change);
  }
  for (const change of maskingOf(row)) types.add('masking', change);
  return types.stages;
}

/** Whether `describedTypes` can say more of the row. */
export function hasDescribedTypes({ transforms }: PlannedRow): boolean {
  return transforms.some(
    ({ definition, parsed }) => definition.schemaWhenCompiled === true && parsed !== undefined,
  );
}

class TypesOfStages {
  readonly stages: StageTypes[];
  schema: RecordSchema;

  constructor(source: RecordSchema | undefined) {
    this.stages = [{ stage: 'source', schema: source }];
    this.schema = source ?? UNKNOWN_SCHEMA;
  }

  add(stage: string, change: SchemaChange): void {
    this.schema = change(this.schema);
    this.stages.push({ stage, schema: knownSchema(this.schema) });
  }
}

/** The fields that the config of the source declares. */
function declaredTypes({ source }: PlannedRow): RecordSchema | undefined {
  const config = source.parsed ?? source.judged;
  return config === undefined ? undefined : source.definition.declares?.(config);
}

function stageOf({ type }: PlannedTransform): string {
  return `transform ${type}`;
}

function changeOf({ definition, parsed, judged }: PlannedTransform): SchemaChange {
  const config = parsed ?? judged;
  return (input) =>
    (config === undefined ? undefined : definition.schema?.(config, input)) ?? UNKNOWN_SCHEMA;
}

/** A transform that cannot be compiled now says nothing; a run would say why. */
async function describedChange(
  transform: PlannedTransform,
  env: Env,
  input: RecordSchema,
): Promise<SchemaChange> {
  const { definition, parsed } = transform;
  if (definition.schemaWhenCompiled !== true || parsed === undefined) return changeOf(transform);
  try {
    const compiled = await definition.compile(parsed, { env });
    try {
      const after = compiled.kind === 'page' ? await compiled.schemaAfter?.(input) : undefined;
      return () => after ?? UNKNOWN_SCHEMA;
    } finally {
      await compiled.close?.();
    }
  } catch {
    return () => UNKNOWN_SCHEMA;
  }
}

function maskingOf(row: PlannedRow): SchemaChange[] {
  const { masking } = governanceOf(row);
  const rules = masking === undefined ? [] : maskingRulesFor(masking, row.sink);
  return rules.length === 0 ? [] : [maskingSchema(rules)];
}
