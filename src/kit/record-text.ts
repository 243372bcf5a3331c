/** Records as JSON texts. */
import { isObject, stringifyJson, type JsonValue } from '../lib/text/json.ts';
import { stringifyMembers } from '../lib/text/member-order.ts';
import { hasOwnOrder, inSchemaOrder, type RecordSchema } from './record-schema.ts';

export type WriteRecord = (record: JsonValue, indent?: number) => string;

/** Writes records with their fields in the order of the source. */
export function recordWriter(schema: RecordSchema | undefined): WriteRecord {
  if (schema === undefined || !hasOwnOrder(schema)) return stringifyJson;
  let last: readonly string[] = [];
  let ordered: readonly string[] = [];
  return (record, indent) => {
    if (!isObject(record)) return stringifyJson(record, indent);
    const names = Object.keys(record);
    if (!isSame(names, last)) {
      last = names;
      ordered = inSchemaOrder(names, schema);
    }
    return stringifyMembers(record, ordered, indent);
  };
}

/** The same, for a source that may learn more between two records. */
export function learningWriter(schema: () => RecordSchema | undefined): WriteRecord {
  let last: RecordSchema | undefined;
  let write = recordWriter(last);
  return (record, indent) => {
    const known = schema();
    if (known !== last) {
      last = known;
      write = recordWriter(known);
    }
    return write(record, indent);
  };
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}
