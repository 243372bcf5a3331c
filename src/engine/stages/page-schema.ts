/** What is known of the fields of a page after stages that change them. */
import { knownSchema, UNKNOWN_SCHEMA, type RecordSchema } from '../../kit/record-schema.ts';

export type SchemaChange = (input: RecordSchema) => RecordSchema;

/** Of a transform; the compiled form of some asks another engine. */
export type TransformSchemaChange = (input: RecordSchema) => RecordSchema | Promise<RecordSchema>;

/** For pages: absent when nothing is known. */
export type PageSchemaChange = (input: RecordSchema | undefined) => RecordSchema | undefined;

/**
 * Pages of one run share their schema, so the result is worked out once and shared by the pages
 * that follow.
 */
export function pageSchemaChange(changes: readonly SchemaChange[]): PageSchemaChange {
  if (changes.length === 0) return (input) => input;
  let last: { readonly input: RecordSchema | undefined; readonly output: RecordSchema | undefined };
  last = { input: undefined, output: apply(changes, UNKNOWN_SCHEMA) };
  return (input) => {
    if (input !== last.input) last = { input, output: apply(changes, input ?? UNKNOWN_SCHEMA) };
    return last.output;
  };
}

function apply(changes: readonly SchemaChange[], input: RecordSchema): RecordSchema | undefined {
  return knownSchema(changes.reduce((schema, change) => change(schema), input));
}
