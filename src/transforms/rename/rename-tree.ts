import {
  UNKNOWN_SCHEMA,
  type RecordField,
  type RecordSchema,
  type RecordType,
} from '../../kit/record-schema.ts';
import { RecordError } from '../../lib/errors.ts';
import { hasField, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { isContainer } from '../../lib/text/json-literal.ts';
import { keepSpellings } from '../../lib/text/number-spelling.ts';
import { keepForm } from '../../lib/value-form.ts';
import { memo } from '../../lib/memo.ts';
import { mappedColumn } from '../../kit/cells.ts';
import { mayNest, type Columns } from '../../kit/columns.ts';
import type { CompiledTransform } from '../../kit/transform.ts';
import { mapping } from '../per-record.ts';

/**
 * Gives every key at every depth, inside lists too, a new name. Names are worked out once for each
 * distinct key.
 */
export function renamingTree(
  rename: (key: string) => string,
  collisions: 'error' | 'last_wins',
): CompiledTransform {
  const newName = memo(rename);
  const ofObject = (value: JsonObject): JsonObject => {
    const renamed: JsonObject = {};
    for (const key of Object.keys(value)) {
      const name = newName(key);
      if (collisions === 'error' && hasField(renamed, name)) {
        throw new RecordError('Transform', `two keys of one object would be called \`${name}\``, {
          hint: 'rename or drop one of them first',
        });
      }
      setField(renamed, name, ofValue(value[key] as JsonValue));
      keepForm(value, key, renamed, name);
    }
    return renamed;
  };
  const ofValue = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) {
      const items = value.map(ofValue);
      keepSpellings(value, items);
      return items;
    }
    return isContainer(value) ? ofObject(value) : value;
  };
  return mapping(ofObject, (columns) => {
    const renamed = renamedColumns(columns, newName);
    if (renamed === undefined) return undefined;
    const inside = columns.columns.map((column) =>
      mayNest(column) ? mappedColumn(columns, column, ofValue) : column,
    );
    return columns.changed({ names: renamed.names, columns: inside });
  });
}

/**
 * The fields under their new names, inside structs too. Where two names may become one, the type of
 * neither is known.
 */
export function renamedSchema(
  { fields, others, order: before }: RecordSchema,
  rename: (key: string) => string,
  collisions: 'error' | 'last_wins',
): RecordSchema {
  const order = before === undefined ? {} : { order: before.map(rename) };
  if (collisions === 'last_wins' && others === true) return { ...UNKNOWN_SCHEMA, ...order };
  const renamed = fields.map((field) => renamedField(field, rename));
  const isSingle = ({ name }: RecordField): boolean =>
    renamed.filter((field) => field.name === name).length === 1;
  const single = renamed.filter(isSingle);
  const isOpen = others === true || single.length < renamed.length;
  return { fields: single, ...(isOpen ? { others: true } : {}), ...order };
}

function renamedField(field: RecordField, rename: (key: string) => string): RecordField {
  const name = rename(field.name);
  const type = renamedType(field.type, rename);
  if (type === field.type) return { ...field, name };
  return { name, type, nullable: field.nullable };
}

function renamedType(type: RecordType, rename: (key: string) => string): RecordType {
  if (type.kind === 'list') {
    const item = renamedType(type.item, rename);
    return item === type.item ? type : { kind: 'list', item };
  }
  if (type.kind === 'map') {
    const value = renamedType(type.value, rename);
    return value === type.value ? type : { ...type, value };
  }
  if (type.kind !== 'struct') return type;
  return { kind: 'struct', fields: type.fields.map((field) => renamedField(field, rename)) };
}

/**
 * Columns under new names; `undefined` where two would get the same one: then each record is handled
 * by itself.
 */
export function renamedColumns(
  columns: Columns,
  rename: (name: string) => string,
): Columns | undefined {
  const names = columns.names.map(rename);
  return new Set(names).size === names.length ? columns.renamed(names) : undefined;
}
