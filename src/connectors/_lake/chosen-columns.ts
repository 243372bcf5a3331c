import { ConnectorError } from '../../lib/errors.ts';
import { suggestion } from '../../lib/text/nearest.ts';

/** The columns of these names, in their order; all where none are named. */
export function chosenColumns<F extends { readonly name: string }>(
  fields: readonly F[],
  names: readonly string[] | undefined,
  table: string,
): readonly F[] {
  return names?.map((name) => columnOf(fields, name, table)) ?? fields;
}

export function columnOf<F extends { readonly name: string }>(
  fields: readonly F[],
  name: string,
  table: string,
): F {
  const field = fields.find((one) => one.name === name);
  if (field !== undefined) return field;
  const all = fields.map((one) => one.name);
  throw new ConnectorError('data', `the table ${table} has no column ${JSON.stringify(name)}`, {
    hint: suggestion(name, all) ?? `it has ${all.join(', ')}`,
  });
}
