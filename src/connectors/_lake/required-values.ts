/** Columns and fields of a table that must not be null. */
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { LakeField, LakeType } from './lake-types.ts';

/** Throws for the first record that lacks a value. */
export function requireValues(records: readonly JsonObject[], fields: readonly LakeField[]): void {
  for (const field of fields) {
    if (!demandsValues(field)) continue;
    for (const [index, record] of records.entries())
      checkField(record[field.name] ?? null, field, { path: field.name, index });
  }
}

interface Place {
  readonly path: string;
  /** Of the record in its page. */
  readonly index: number;
}

type Demand = Pick<LakeField, 'nullable' | 'type'>;

function demandsValues({ nullable, type }: Demand): boolean {
  return !nullable || demandsInside(type);
}

function demandsInside(type: LakeType): boolean {
  switch (type.is) {
    case 'struct':
      return type.fields.some(demandsValues);
    case 'list':
      return !type.hasNulls || demandsInside(type.item);
    case 'map':
      return !type.hasNulls || demandsInside(type.value);
    default:
      return false;
  }
}

function checkField(value: JsonValue, { nullable, type }: Demand, place: Place): void {
  if (value !== null) return checkInside(value, type, place);
  if (nullable) return;
  throw new ConnectorError(
    'data',
    `the table does not allow null in the column ${JSON.stringify(place.path)}`,
    {
      record: place.index,
      hint: 'fill the field, e.g. with a transform, or leave such records out',
    },
  );
}

function checkInside(value: JsonValue, type: LakeType, place: Place): void {
  const inside = (step: string): Place => ({ ...place, path: place.path + step });
  if (type.is === 'struct' && isObject(value))
    for (const field of type.fields)
      checkField(value[field.name] ?? null, field, inside(`.${field.name}`));
  if (type.is === 'list' && Array.isArray(value))
    for (const item of value)
      checkField(item, { nullable: type.hasNulls, type: type.item }, inside('[]'));
  if (type.is === 'map' && isObject(value))
    for (const [key, inner] of Object.entries(value))
      checkField(inner, { nullable: type.hasNulls, type: type.value }, inside(`.${key}`));
}
