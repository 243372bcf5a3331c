/** The types of fields after the stages of a row, as text and as JSON. */
import type { StageTypes } from '../../engine/stages/row-types.ts';
import { schemaText, typeText } from '../../kit/type-text.ts';

/** One line for each stage of which something is known: `source: id: int64, …`. */
export function formatTypes(types: readonly StageTypes[]): string[] {
  return types.flatMap(({ stage, schema }) =>
    schema === undefined ? [] : [`${stage}: ${schemaText(schema)}`],
  );
}

/** Empty where nothing is known of any stage. */
export function typesDocument(types: readonly StageTypes[]): Record<string, unknown> {
  if (types.every(({ schema }) => schema === undefined)) return {};
  return {
    types: types.map(({ stage, schema }) => ({
      stage,
      fields: (schema?.fields ?? []).map(({ name, type, nullable }) => ({
        name,
        type: typeText(type),
        nullable,
      })),
      other_fields: schema?.others ?? schema === undefined,
    })),
  };
}
