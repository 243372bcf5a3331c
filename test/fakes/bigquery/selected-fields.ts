/** Only some columns of rows, and some fields of their structs. */
import { DuckDBListValue, DuckDBStructValue, type DuckDBValue } from '@duckdb/node-api';
import { BigqueryFault } from './fault.ts';
import type { Stored } from './read-service.ts';
import type { Field } from './types.ts';

interface Part {
  readonly at: number;
  readonly field: Field;
  of(this: void, value: DuckDBValue): DuckDBValue;
}

export function selected({ fields, values }: Stored, names: readonly string[]): Stored {
  if (names.length === 0) return { fields, values };
  const parts = partsOf(fields, names);
  return {
    fields: parts.map(({ field }) => field),
    values: values.map((row) => parts.map(({ at, of }) => of(row[at] ?? null))),
  };
}

function partsOf(fields: readonly Field[], names: readonly string[]): Part[] {
  const paths = names.map((name) => name.toLowerCase().split('.'));
  for (const [first] of paths)
    if (!fields.some(({ name }) => name.toLowerCase() === first))
      throw new BigqueryFault(
        400,
        'invalid',
        `request failed: The following selected fields do not exist in the table schema: ${first}`,
      );
  return fields.flatMap((field, at) => {
    const own = paths.filter(([first]) => first === field.name.toLowerCase());
    if (own.length === 0) return [];
    const inner = own.map((path) => path.slice(1).join('.')).filter((path) => path !== '');
    if (inner.length < own.length) return [{ at, field, of: (value) => value }];
    const parts = partsOf(field.fields ?? [], inner);
    const of = (value: DuckDBValue): DuckDBValue =>
      value instanceof DuckDBListValue
        ? new DuckDBListValue(value.items.map(of))
        : value instanceof DuckDBStructValue
          ? new DuckDBStructValue(
              Object.fromEntries(
                parts.map((part) => [
                  part.field.name,
                  part.of(value.entries[part.field.name] ?? null),
                ]),
              ),
            )
          : value;
    return [{ at, field: { ...field, fields: parts.map((part) => part.field) }, of }];
  });
}
