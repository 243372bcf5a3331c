import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import type { LiveColumn } from './driver.ts';

/** Each column with the type that its field has in a page; a field may differ in its case. */
export function typedColumns<C extends Pick<LiveColumn, 'name'>>(
  columns: readonly C[],
  schema: RecordSchema | undefined,
): (C & { readonly type?: RecordType })[] {
  if (schema === undefined) return [...columns];
  const { fields } = schema;
  const types = new Map(fields.map(({ name, type }) => [name, type]));
  const folded = new Map(fields.map(({ name, type }) => [name.toLowerCase(), type]));
  return columns.map((column) => {
    const type = types.get(column.name) ?? folded.get(column.name.toLowerCase());
    return type === undefined ? column : { ...column, type };
  });
}
