/**
 * The names and types of the fields of records, gathered as records pass. Of their values nothing
 * is kept.
 */
import { columnTypeOf } from '../kit/column-type.ts';
import type { ColumnType } from '../kit/sink.ts';
import { isObject, type JsonValue } from '../lib/text/json.ts';

/** What records hold in one top-level field. */
export interface FieldTypesOf {
  readonly name: string;
  /** In the order in which they were first seen. */
  readonly types: ReadonlySet<ColumnType>;
  /** Whether any record holds null there, or does not have the field. */
  readonly nulls: boolean;
  /** Whether any record holds null there. */
  readonly hasNull: boolean;
}

export class FieldTypes {
  readonly #seen = new Map<
    string,
    { readonly types: Set<ColumnType>; filled: number; nulls: number }
  >();
  #objects = 0;

  /** Records that are not objects have no fields and are left out. */
  add(records: readonly JsonValue[]): void {
    for (const record of records) {
      if (!isObject(record)) continue;
      this.#objects += 1;
      for (const name of Object.keys(record)) {
        const value = record[name];
        let field = this.#seen.get(name);
        if (field === undefined)
          this.#seen.set(name, (field = { types: new Set(), filled: 0, nulls: 0 }));
        const type = value === undefined ? undefined : columnTypeOf(value);
        if (type === undefined) {
          field.nulls += 1;
          continue;
        }
        field.filled += 1;
        field.types.add(type);
      }
    }
  }

  /** In the order in which they were first seen. */
  fields(): FieldTypesOf[] {
    return [...this.#seen].map(([name, { types, filled, nulls }]) => ({
      name,
      types: withoutNarrower(types),
      nulls: filled < this.#objects,
      hasNull: nulls > 0,
    }));
  }
}

/** An integer is a number where both occur. */
export function withoutNarrower(types: ReadonlySet<ColumnType>): ReadonlySet<ColumnType> {
  return types.has('number') ? new Set([...types].filter((type) => type !== 'integer')) : types;
}
