import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { columnTypeIn, isExactDouble } from '../../kit/column-type.ts';
import { inSchemaOrder, type RecordSchema } from '../../kit/record-schema.ts';
import { columnTypeFor } from '../../kit/typed-values.ts';
import type { ColumnType } from '../../kit/sink.ts';
import type { NewColumn } from './driver.ts';

/** `large_integer`: one that a double would round. */
type Seen = ColumnType | 'large_integer';

const WIDTH: readonly Seen[] = [
  'boolean',
  'integer',
  'large_integer',
  'number',
  'string',
  'array',
  'object',
];

/**
 * Columns for a page of records. All fields of a schema are columns; where there may be others, or
 * nothing is known, columns are the fields of the records in the order in which they first appear.
 * Fields of unknown types get the widest type of their values, and text where all are null.
 */
export function newColumns(
  records: readonly JsonValue[],
  schema: RecordSchema | undefined,
): NewColumn[] {
  if (schema === undefined) return inferColumns(records);
  const known = schemaColumns(schema);
  if (schema.others !== true) return known;
  const inferred = new Map(inferColumns(records).map((column) => [column.name, column]));
  const all = new Map([...inferred, ...known.map((column) => [column.name, column] as const)]);
  return inSchemaOrder(inferred.keys(), schema).flatMap((name) => all.get(name) ?? []);
}

export function schemaColumns({ fields }: RecordSchema): NewColumn[] {
  return fields.map((field) => ({ name: field.name, type: columnTypeFor(field.type), field }));
}

function inferColumns(records: readonly JsonValue[]): NewColumn[] {
  const types = new Map<string, Seen | undefined>();
  for (const record of records) {
    if (!isObject(record)) continue;
    for (const name of Object.keys(record))
      types.set(name, wider(types.get(name), seenIn(record, name)));
  }
  return [...types].map(([name, type]) => ({
    name,
    type: type === 'large_integer' ? 'integer' : (type ?? 'string'),
  }));
}

function seenIn(record: JsonObject, name: string): Seen | undefined {
  const type = columnTypeIn(record, name);
  return type === 'integer' && !isExactDouble(record[name]) ? 'large_integer' : type;
}

/** Numbers of which no column of one type holds all digits become text. */
function wider(a: Seen | undefined, b: Seen | undefined): Seen | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a === 'large_integer' && b === 'number') return 'string';
  if (a === 'number' && b === 'large_integer') return 'string';
  return WIDTH.indexOf(a) >= WIDTH.indexOf(b) ? a : b;
}
