/**
 * The keys of maps in files. In a record they are the names of fields, and so texts; what they are in
 * the file stands beside the type of the field, for a file that is written of the records.
 */
import type { NativeType, RecordType } from '../../../kit/record-schema.ts';
import { parseType, typeText } from '../../../kit/type-text.ts';

const SYSTEM = 'file';

/** Tells the keys of the maps of a field, from the outermost map inwards. */
export function keysColumn(keys: readonly RecordType[]): NativeType {
  const fields = keys.map((type, index) => ({ name: `key_${index}`, type, nullable: false }));
  return { system: SYSTEM, name: typeText({ kind: 'struct', fields }) };
}

/** The same type with the keys that `keysColumn` told. */
export function withKeys(type: RecordType, native: NativeType | undefined): RecordType {
  const told = native?.system === SYSTEM ? parseType(native.name) : undefined;
  if (told?.kind !== 'struct') return type;
  const keys = told.fields.map((field) => field.type);
  return keys.length === mapsIn(type) ? keyed(type, keys) : type;
}

function mapsIn(type: RecordType): number {
  if (type.kind === 'list') return mapsIn(type.item);
  return type.kind === 'map' ? 1 + mapsIn(type.value) : 0;
}

function keyed(type: RecordType, keys: readonly RecordType[]): RecordType {
  if (type.kind === 'list') return { kind: 'list', item: keyed(type.item, keys) };
  const [key, ...inner] = keys;
  if (type.kind !== 'map' || key === undefined) return type;
  return { kind: 'map', key, value: keyed(type.value, inner) };
}
