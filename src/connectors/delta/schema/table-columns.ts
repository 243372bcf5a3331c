/** The columns of a table: made of what is known of records, and as its files store them. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType, DestinationColumn } from '../../../kit/sink.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { MOST_DIGITS, type ColumnKind } from '../../_files/typed/column-kinds.ts';
import {
  deltaText,
  recordTypeOf,
  type DeltaField,
  type DeltaStruct,
  type DeltaType,
} from './delta-types.ts';

const primitive = (name: string): DeltaType => ({ is: 'primitive', name });
const TEXT = primitive('string');
const LONG = primitive('long');

/** The type of a new column, for values of this kind. */
export function deltaTypeOf(kind: ColumnKind): DeltaType {
  switch (kind.is) {
    case 'boolean':
      return primitive('boolean');
    case 'integer':
      return LONG;
    case 'number':
      return primitive('double');
    case 'typed':
      return ofRecordType(kind.type);
    case 'list':
      return { is: 'array', item: deltaTypeOf(kind.of), hasNulls: true };
    case 'map':
      return {
        is: 'map',
        key: deltaTypeOf(kind.key),
        value: deltaTypeOf(kind.value),
        hasNulls: true,
      };
    case 'struct':
      return { is: 'struct', fields: [...kind.fields].map(newField) };
    default:
      return TEXT;
  }
}

/** Columns that are made for records may be null. */
export function newField([name, kind]: readonly [string, ColumnKind]): DeltaField {
  return { name, type: deltaTypeOf(kind), nullable: true, metadata: {} };
}

const TYPES: Readonly<Partial<Record<RecordType['kind'], DeltaType>>> = {
  int8: primitive('byte'),
  int16: primitive('short'),
  int32: primitive('integer'),
  uint8: primitive('short'),
  uint16: primitive('integer'),
  uint32: LONG,
  uint64: { is: 'decimal', precision: 20, scale: 0 },
  float32: primitive('float'),
  float64: primitive('double'),
  binary: primitive('binary'),
  date: primitive('date'),
};

function ofRecordType(type: RecordType): DeltaType {
  if (type.kind === 'decimal') {
    const { precision = MOST_DIGITS, scale = 0 } = type;
    return { is: 'decimal', precision, scale };
  }
  if (type.kind === 'timestamp')
    return primitive(type.zone === undefined ? 'timestamp_ntz' : 'timestamp');
  // Tables know no times of day, intervals and UUIDs.
  return TYPES[type.kind] ?? TEXT;
}

/** How files store a column; `learned` is what is known of the values that come. */
export function storedKind(type: DeltaType, learned: ColumnKind | undefined): ColumnKind {
  switch (type.is) {
    case 'array':
      return {
        is: 'list',
        of: storedKind(type.item, learned?.is === 'list' ? learned.of : undefined),
      };
    case 'map': {
      const [key, value] = learned?.is === 'map' ? [learned.key, learned.value] : [];
      return { is: 'map', key: storedKind(type.key, key), value: storedKind(type.value, value) };
    }
    case 'struct': {
      const known = learned?.is === 'struct' ? learned.fields : undefined;
      const fields = type.fields.map(
        (field) => [field.name, storedKind(field.type, known?.get(field.name))] as const,
      );
      return { is: 'struct', fields: new Map(fields) };
    }
    case 'decimal':
      return { is: 'typed', type: recordTypeOf(type) };
    default:
      return storedPrimitive(type.name, recordTypeOf(type), learned);
  }
}

function storedPrimitive(
  name: string,
  type: RecordType,
  learned: ColumnKind | undefined,
): ColumnKind {
  if (name === 'boolean') return { is: 'boolean' };
  if (name === 'long') return { is: 'integer' };
  if (name !== 'string') return { is: 'typed', type };
  if (learned?.is === 'json') return { is: 'string', documents: true };
  return learned?.is === 'string' && learned.numbers === true ? learned : { is: 'string' };
}

/** The fields that `others` has and `schema` lacks. Names that differ in case alone are refused. */
export function missingFields(
  schema: DeltaStruct | undefined,
  others: readonly DeltaField[],
): readonly DeltaField[] {
  const byCase = new Map((schema?.fields ?? []).map(({ name }) => [name.toLowerCase(), name]));
  return others.filter(({ name }) => {
    const known = byCase.get(name.toLowerCase());
    byCase.set(name.toLowerCase(), name);
    if (known === undefined) return true;
    if (known === name) return false;
    const both = `${JSON.stringify(known)} and ${JSON.stringify(name)}`;
    throw new ConnectorError(
      'data',
      `the fields ${both} differ in case alone, which columns of Delta must not`,
      {
        hint: 'rename one of them, e.g. with a `rename` transform',
      },
    );
  });
}

/** Why a table with this schema cannot have files with these columns; `undefined` if it can. */
export function schemaConflict(
  schema: DeltaStruct,
  written: readonly DeltaField[],
): string | undefined {
  const now = new Map(schema.fields.map((field) => [field.name, field]));
  for (const { name, type, nullable } of written) {
    const field = now.get(name);
    if (field === undefined) continue;
    if (typeText(field.type) !== typeText(type) || (nullable && !field.nullable))
      return `the column ${JSON.stringify(name)} has become ${deltaText(field.type)}`;
  }
  const names = new Set(written.map(({ name }) => name));
  const needed = schema.fields.find(({ name, nullable }) => !nullable && !names.has(name));
  return needed === undefined
    ? undefined
    : `the column ${JSON.stringify(needed.name)} must have a value`;
}

function typeText(type: DeltaType): string {
  return JSON.stringify(type, (key, value: unknown) => (key === 'metadata' ? undefined : value));
}

const NEUTRAL: Readonly<Record<string, readonly ColumnType[]>> = {
  boolean: ['boolean'],
  long: ['integer'],
  integer: ['integer'],
  short: ['integer'],
  byte: ['integer'],
  float: ['number', 'integer'],
  double: ['number', 'integer'],
};

export function destinationColumns({ fields }: DeltaStruct): DestinationColumn[] {
  return fields.map(({ name, type, nullable }) => ({ name, types: neutralTypes(type), nullable }));
}

function neutralTypes(type: DeltaType): readonly ColumnType[] {
  switch (type.is) {
    case 'decimal':
      return ['number', 'integer', 'string'];
    case 'array':
      return ['array'];
    case 'map':
      return ['object', 'array'];
    case 'struct':
      return ['object'];
    default:
      return NEUTRAL[type.name] ?? ['string'];
  }
}
