/** What is known of the fields of a row after each of its stages, without running them. */
import { maskingRulesFor } from '../../blocks/masking/schema.ts';
import { knownSchema, UNKNOWN_SCHEMA, type RecordSchema } from '../../kit/record-schema.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { governanceOf } from './governance.ts';
import { maskingSchema } from './masking-schema.ts';
import type { SchemaChange } from './page-schema.ts';

export interface StageTypes {
  /** `source`, `transform` with its type, or the name of another stage. */
  readonly stage: string;
  /** Absent when nothing is known. */
  readonly schema: RecordSchema | undefined;
}

/** `source` is what is known of the records as they are read. */
export function typesAfterStages(
  row: PlannedRow,
  source: RecordSchema | undefined = declaredTypes(row),
): StageTypes[] {
  const types: StageTypes[] = [{ stage: 'source', schema: source }];
  let schema = source ?? UNKNOWN_SCHEMA;
  for (const [stage, change] of changesOf(row)) {
    schema = change(schema);
    types.push({ stage, schema: knownSchema(schema) });
  }
  return types;
}

/** The fields that the config of the source declares. */
function declaredTypes({ source }: PlannedRow): RecordSchema | undefined {
  const config = source.parsed ?? source.judged;
  return config === undefined ? undefined : source.definition.declares?.(config);
}

function changesOf(row: PlannedRow): (readonly [string, SchemaChange])[] {
  const { masking } = governanceOf(row);
  const rules = masking === undefined ? [] : maskingRulesFor(masking, row.sink);
  return [
    ...row.transforms.map(({ type, definition, parsed, judged }) => {
      const config = parsed ?? judged;
      const change: SchemaChange = (input) =>
        (config === undefined ? undefined : definition.schema?.(config, input)) ?? UNKNOWN_SCHEMA;
      return [`transform ${type}`, change] as const;
    }),
    ...(rules.length === 0 ? [] : [['masking', maskingSchema(rules)] as const]),
  ];
}
