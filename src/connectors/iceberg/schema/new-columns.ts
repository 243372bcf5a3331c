/** The columns of a table: made of what is known of records, and as its files store them. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType, DestinationColumn } from '../../../kit/sink.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { MOST_DIGITS, type ColumnKind } from '../../_files/typed/column-kinds.ts';
import { recordTypeOf, type IcebergField, type IcebergType } from './iceberg-types.ts';

const primitive = (name: string): IcebergType => ({ is: 'primitive', name });
const TEXT = primitive('string');
const INT = primitive('int');
const LONG = primitive('long');
/** Ids are given when a column is added to a table. */
const NO_ID = 0;

/** The type of a new column, for values of this kind. */
export function icebergTypeOf(kind: ColumnKind): IcebergType {
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
      return {
        is: 'list',
        elementId: NO_ID,
        element: icebergTypeOf(kind.of),
        elementRequired: false,
      };
    case 'map':
      return {
        is: 'map',
        keyId: NO_ID,
        key: icebergTypeOf(kind.key),
        valueId: NO_ID,
        value: icebergTypeOf(kind.value),
        valueRequired: false,
      };
    case 'struct':
      return { is: 'struct', fields: [...kind.fields].map(newField) };
    default:
      return TEXT;
  }
}

/** Columns that are made for records may be null. */
export function newField([name, kind]: readonly [string, ColumnKind]): IcebergField {
  return { id: NO_ID, name, type: icebergTypeOf(kind), required: false };
}

const TYPES: Readonly<Partial<Record<RecordType['kind'], IcebergType>>> = {
  int8: INT,
  int16: INT,
  int32: INT,
  uint8: INT,
  uint16: INT,
  uint32: LONG,
  uint64: { is: 'decimal', precision: 20, scale: 0 },
  float32: primitive('float'),
  float64: primitive('double'),
  binary: primitive('binary'),
  date: primitive('date'),
  time: primitive('time'),
  uuid: primitive('uuid'),
};

function ofRecordType(type: RecordType): IcebergType {
  if (type.kind === 'decimal') {
    const { precision = MOST_DIGITS, scale = 0 } = type;
    return { is: 'decimal', precision, scale };
  }
  if (type.kind === 'timestamp')
    return primitive(type.zone === undefined ? 'timestamp' : 'timestamptz');
  // Tables know no intervals.
  return TYPES[type.kind] ?? TEXT;
}

/** How files store a column; `learned` is what is known of the values that come. */
export function storedKind(type: IcebergType, learned: ColumnKind | undefined): ColumnKind {
  switch (type.is) {
    case 'list':
      return {
        is: 'list',
        of: storedKind(type.element, learned?.is === 'list' ? learned.of : undefined),
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
    case 'primitive':
      return storedPrimitive(type.name, recordTypeOf(type), learned);
    default:
      return { is: 'typed', type: recordTypeOf(type) };
  }
}

/** What a column of texts holds as JSON. */
const DOCUMENTS: ReadonlySet<string> = new Set(['json', 'struct', 'list', 'map']);

function storedPrimitive(
  name: string,
  type: RecordType,
  learned: ColumnKind | undefined,
): ColumnKind {
  if (name === 'boolean') return { is: 'boolean' };
  if (name === 'long') return { is: 'integer' };
  if (name !== 'string') return { is: 'typed', type };
  if (learned !== undefined && DOCUMENTS.has(learned.is)) return { is: 'string', documents: true };
  return learned?.is === 'string' && learned.numbers === true ? learned : { is: 'string' };
}

/** Throws where a table has a column that is not written here. */
export function requireWritableTypes(fields: readonly IcebergField[], table: string): void {
  const walk = (type: IcebergType): boolean => {
    switch (type.is) {
      case 'fixed':
        return true;
      case 'list':
        return walk(type.element);
      case 'map':
        return walk(type.key) || walk(type.value);
      case 'struct':
        return type.fields.some((field) => walk(field.type));
      default:
        return false;
    }
  };
  const bad = fields.find(({ type }) => walk(type));
  if (bad === undefined) return;
  throw new ConnectorError(
    'refused',
    `the table ${table} has the column ${JSON.stringify(bad.name)} with bytes of a fixed length, which are not written`,
    { hint: 'give the column the type `binary`' },
  );
}

const NEUTRAL: Readonly<Record<string, readonly ColumnType[]>> = {
  boolean: ['boolean'],
  int: ['integer'],
  long: ['integer'],
  float: ['number', 'integer'],
  double: ['number', 'integer'],
};

export function destinationColumns(fields: readonly IcebergField[]): DestinationColumn[] {
  return fields.map(({ name, type, required }) => ({
    name,
    types: neutralTypes(type),
    nullable: !required,
  }));
}

export function neutralTypes(type: IcebergType): readonly ColumnType[] {
  switch (type.is) {
    case 'decimal':
      return ['number', 'integer', 'string'];
    case 'list':
      return ['array'];
    case 'map':
      return ['object', 'array'];
    case 'struct':
      return ['object'];
    case 'fixed':
      return ['string'];
    default:
      return NEUTRAL[type.name] ?? ['string'];
  }
}
