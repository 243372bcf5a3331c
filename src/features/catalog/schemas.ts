/**
 * Schemas as the catalog keeps them: inferred from what sampled records look like, and compared as
 * the drift of a destination is.
 */
import { createHash } from 'node:crypto';
import type { RecordShape } from '../../engine/observe/samples.ts';
import { compareColumns } from '../../engine/stages/drift-columns.ts';
import type { ColumnType, DestinationColumn } from '../../kit/sink.ts';
import { canonicalJson, type JsonValue } from '../../lib/text/json.ts';
import type { InferredSchema, SchemaDiff } from '../../wire/catalog.ts';

/** `undefined` when there was no object to look at. */
export function inferSchema(shape: RecordShape): InferredSchema | undefined {
  if (shape.length === 0) return undefined;
  const properties = shape.map(({ name, types, nulls }) => {
    const all = [...types.toSorted(), ...(nulls || types.length === 0 ? ['null'] : [])];
    return [name, { type: all.length === 1 && all[0] !== undefined ? all[0] : all }] as const;
  });
  return { type: 'object', properties: Object.fromEntries(properties) };
}

export function schemaHash(schema: InferredSchema): string {
  return createHash('sha256')
    .update(canonicalJson(schema as unknown as JsonValue))
    .digest('hex')
    .slice(0, 16);
}

export function compareSchemas(before: InferredSchema, after: InferredSchema): SchemaDiff {
  const [old, fresh] = [columnsOf(before), columnsOf(after)];
  const page = fresh.map(({ name, types, nullable }) => ({
    name,
    types: new Set(types),
    nulls: nullable,
    hasNull: nullable,
  }));
  const drift = compareColumns(page, {
    destination: old,
    allowWidening: true,
    supplied: new Set(),
  });
  const names = (list: readonly { readonly name: string }[]): Set<string> =>
    new Set(list.map(({ name }) => name));
  const [added, widened, kept] = [names(drift.added), names(drift.widened), names(fresh)];
  const change = (column: string) => ({
    column,
    from: typesOf(before, column) ?? null,
    to: typesOf(after, column) ?? '',
  });
  const changed = fresh.filter(
    ({ name }) =>
      !added.has(name) && !widened.has(name) && typesOf(before, name) !== typesOf(after, name),
  );
  return {
    added: [...added].map(change),
    widened: [...widened].map(change),
    changed: changed.map(({ name }) => change(name)),
    removed: old.map(({ name }) => name).filter((name) => !kept.has(name)),
  };
}

function columnsOf({ properties }: InferredSchema): DestinationColumn[] {
  return Object.entries(properties).map(([name, { type }]) => {
    const types = typeof type === 'string' ? [type] : type;
    return {
      name,
      types: types.filter((one) => one !== 'null') as ColumnType[],
      nullable: types.includes('null'),
    };
  });
}

function typesOf({ properties }: InferredSchema, column: string): string | undefined {
  if (!Object.hasOwn(properties, column)) return undefined;
  const type = properties[column]?.type ?? [];
  return typeof type === 'string' ? type : type.join('|');
}
