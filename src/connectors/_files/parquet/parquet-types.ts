import type { SchemaElement } from 'hyparquet';
import { ConnectorError } from '../../../lib/errors.ts';
import type { RecordSchema, RecordType } from '../../../kit/record-schema.ts';
import { columnTypeFor, NOT_FINITE } from '../../../kit/typed-values.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';

/**
 * The type of a column, learned from its values. `unknown`: only nulls so far. `json`: objects
 * without any field.
 */
export type ColumnKind =
  | { readonly is: 'unknown' | 'boolean' | 'integer' | 'number' | 'string' | 'json' }
  | { readonly is: 'list'; readonly of: ColumnKind }
  | { readonly is: 'struct'; readonly fields: ReadonlyMap<string, ColumnKind> };

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/** The columns of some records; throws when a field has values of two kinds. */
export function learnColumns(
  records: readonly JsonObject[],
  schema?: RecordSchema,
): ReadonlyMap<string, ColumnKind> {
  const learner = new ColumnLearner();
  learner.learn(records, schema);
  return learner.columns;
}

/** Floats that are no numbers as the library takes them; in a record they are texts. */
export function withFloats(
  records: readonly JsonObject[],
  schema: RecordSchema | undefined,
): readonly JsonObject[] {
  const floats = schema?.fields.filter(({ type }) => columnTypeFor(type) === 'number') ?? [];
  if (floats.length === 0) return records;
  return records.map((record) => {
    const odd = floats.filter(({ name }) => NOT_FINITE.has(record[name] ?? null));
    return odd.length === 0
      ? record
      : { ...record, ...Object.fromEntries(odd.map(({ name }) => [name, Number(record[name])])) };
  });
}

/** What the schema settles whatever the values: whole floats are floats, nulls have a type. */
function settledKind(type: RecordType): ColumnKind | undefined {
  const is = columnTypeFor(type);
  return is === 'array' || is === 'object' || type.kind === 'uint64' ? undefined : { is };
}

/** Learns columns from records that come batch by batch. */
export class ColumnLearner {
  #columns: ReadonlyMap<string, ColumnKind> = new Map();

  get columns(): ReadonlyMap<string, ColumnKind> {
    return this.#columns;
  }

  /**
   * Learns from all records or, when one does not fit, from none. What is known of a field decides
   * over its values.
   */
  learn(records: readonly JsonObject[], schema?: RecordSchema): void {
    const columns = new Map(this.#columns);
    for (const record of records) mergeFields(columns, record, '');
    for (const { name, type } of schema?.fields ?? []) {
      const [learned, settled] = [columns.get(name), settledKind(type)];
      if (learned === undefined || settled === undefined) continue;
      if (learned.is === 'unknown' || (settled.is === 'number' && isNumeric(learned)))
        columns.set(name, settled);
    }
    this.#columns = columns;
  }
}

function mergeFields(fields: Map<string, ColumnKind>, record: JsonObject, above: string): void {
  for (const [name, value] of Object.entries(record)) {
    const known = fields.get(name);
    const kind = kindOf(value, above + name);
    fields.set(name, known === undefined ? kind : merge(known, kind, above + name));
  }
}

function kindOf(value: JsonValue, path: string): ColumnKind {
  if (value === null) return { is: 'unknown' };
  if (Array.isArray(value)) {
    return {
      is: 'list',
      of: value
        .map((item) => kindOf(item, `${path}[]`))
        .reduce((a, b) => merge(a, b, `${path}[]`), { is: 'unknown' }),
    };
  }
  if (isObject(value)) {
    const fields = new Map<string, ColumnKind>();
    mergeFields(fields, value, `${path}.`);
    return fields.size === 0 ? { is: 'json' } : { is: 'struct', fields };
  }
  if (typeof value === 'number') return { is: Number.isSafeInteger(value) ? 'integer' : 'number' };
  if (typeof value === 'bigint') return { is: 'integer' };
  return { is: typeof value === 'boolean' ? 'boolean' : 'string' };
}

function merge(a: ColumnKind, b: ColumnKind, path: string): ColumnKind {
  if (a.is === 'unknown') return b;
  if (b.is === 'unknown') return a;
  if (a.is === 'list' && b.is === 'list') return { is: 'list', of: merge(a.of, b.of, `${path}[]`) };
  if (a.is === 'struct' && b.is === 'struct') return mergeStructs(a.fields, b.fields, path);
  if (a.is === 'json' && b.is === 'struct') return b;
  if (a.is === 'struct' && b.is === 'json') return a;
  if (a.is === b.is) return a;
  if (isNumeric(a) && isNumeric(b)) return { is: 'number' };
  throw mismatch(path, a.is, b.is);
}

function mergeStructs(
  a: ReadonlyMap<string, ColumnKind>,
  b: ReadonlyMap<string, ColumnKind>,
  path: string,
): ColumnKind {
  const fields = new Map(a);
  for (const [name, kind] of b) {
    const known = fields.get(name);
    fields.set(name, known === undefined ? kind : merge(known, kind, `${path}.${name}`));
  }
  return { is: 'struct', fields };
}

function isNumeric(kind: ColumnKind): boolean {
  return kind.is === 'integer' || kind.is === 'number';
}

function mismatch(path: string, column: string, found: string): ConnectorError {
  return new ConnectorError(
    'data',
    `the field ${JSON.stringify(path)} is ${column}, but a record has ${found} there`,
    {
      hint: 'bring the values to one type with a `cast` transform',
    },
  );
}

/** The schema elements for the columns; every column may be null. */
export function schemaOf(columns: ReadonlyMap<string, ColumnKind>): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.size },
    ...[...columns].flatMap(([name, kind]) => elementsOf(name, kind)),
  ];
}

function elementsOf(name: string, kind: ColumnKind): SchemaElement[] {
  const repetition_type = 'OPTIONAL' as const;
  switch (kind.is) {
    case 'boolean':
      return [{ name, type: 'BOOLEAN', repetition_type }];
    case 'integer':
      return [{ name, type: 'INT64', repetition_type }];
    case 'number':
      return [{ name, type: 'DOUBLE', repetition_type }];
    case 'json':
      return [{ name, type: 'BYTE_ARRAY', converted_type: 'JSON', repetition_type }];
    case 'list':
      return [
        { name, repetition_type, converted_type: 'LIST', num_children: 1 },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        ...elementsOf('element', kind.of),
      ];
    case 'struct':
      return [
        { name, repetition_type, num_children: kind.fields.size },
        ...[...kind.fields].flatMap(([field, inner]) => elementsOf(field, inner)),
      ];
    default:
      return [{ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type }];
  }
}

export interface Fitting {
  /** Called for each field that no column can hold. */
  readonly dropped: (path: string) => void;
}

/** The value in the form the library needs for a column; throws when it does not fit. */
export function fit(
  value: JsonValue | undefined,
  kind: ColumnKind,
  place: { path: string; fitting: Fitting },
): unknown {
  if (value === null || value === undefined) return undefined;
  const { path, fitting } = place;
  switch (kind.is) {
    case 'boolean':
      return typeof value === 'boolean' ? value : misfit(value, kind, path);
    case 'integer':
      return fitInteger(value, kind, path);
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint'
        ? Number(value)
        : misfit(value, kind, path);
    case 'json':
      return value;
    case 'list': {
      if (!Array.isArray(value)) return misfit(value, kind, path);
      return value.map((item) => fit(item, kind.of, { path: `${path}[]`, fitting }));
    }
    case 'struct':
      return isObject(value) ? fitStruct(value, kind.fields, place) : misfit(value, kind, path);
    default:
      return typeof value === 'string' ? value : misfit(value, { is: 'string' }, path);
  }
}

function fitInteger(value: JsonValue, kind: ColumnKind, path: string): bigint {
  if (
    typeof value === 'bigint'
      ? value >= INT64_MIN && value <= INT64_MAX
      : Number.isSafeInteger(value)
  )
    return BigInt(value as number);
  return misfit(value, kind, path);
}

function fitStruct(
  value: JsonObject,
  fields: ReadonlyMap<string, ColumnKind>,
  place: { path: string; fitting: Fitting },
): object {
  const out: Record<string, unknown> = {};
  for (const [name, kind] of fields)
    out[name] = fit(value[name], kind, { path: `${place.path}.${name}`, fitting: place.fitting });
  for (const name of Object.keys(value))
    if (!fields.has(name)) place.fitting.dropped(`${place.path}.${name}`);
  return out;
}

function misfit(value: JsonValue, kind: ColumnKind, path: string): never {
  const found = kindOf(value, path).is;
  throw mismatch(path, kind.is, found === kind.is ? `${found} too large for 64 bits` : found);
}
