/** The logical types of the fields of an Avro file, as `avroConverter` gives their values. */
import type {
  RecordField,
  RecordSchema,
  RecordType,
  SimpleTypeName,
  TimeUnit,
} from '../../../kit/record-schema.ts';
import { DURATION_COLUMN } from '../typed/column-kinds.ts';
import { logicalName, type AvroType, type Schema, type SchemaObject } from './avro-values.ts';

/** Absent where the values of the file are no records. */
export function avroRecordSchema(schema: unknown, type: AvroType): RecordSchema | undefined {
  const builder = new TypeBuilder();
  const { type: record } = builder.fieldType(schema as Schema, type);
  return record.kind === 'struct' ? { fields: record.fields } : undefined;
}

interface FieldType {
  readonly type: RecordType;
  readonly nullable: boolean;
}

const JSON_TYPE: RecordType = { kind: 'json' };

class TypeBuilder {
  /** Types may refer to others by name. One that is part of itself has no type but json. */
  readonly #known = new Map<AvroType, RecordType>();

  fieldType(schema: Schema, type: AvroType): FieldType {
    if (!isUnion(schema)) {
      const nullable = schema === 'null' || (schema as Partial<SchemaObject>).type === 'null';
      return { type: this.#of(schema, type), nullable };
    }
    const branches = schema.flatMap((branch, index) =>
      branch === 'null' ? [] : [this.#of(branch, type.types?.[index] ?? {})],
    );
    return { type: commonType(branches), nullable: branches.length < schema.length };
  }

  #of(schema: Schema, type: AvroType): RecordType {
    if (typeof schema === 'string') return PRIMITIVES[schema] ?? this.#known.get(type) ?? JSON_TYPE;
    if (isUnion(schema)) return this.fieldType(schema, type).type;
    const found = logicalType(schema) ?? this.#structure(schema, type);
    if (schema.name !== undefined) this.#known.set(type, found);
    return found;
  }

  #structure(schema: SchemaObject, type: AvroType): RecordType {
    if (schema.fields !== undefined) {
      const fields = schema.fields.map((field, index): RecordField => {
        const found = this.fieldType(field.type, type.fields?.[index]?.type ?? {});
        const one = { name: field.name, ...found };
        return found.type.kind === 'interval' ? { ...one, native: DURATION_COLUMN } : one;
      });
      return { kind: 'struct', fields };
    }
    if (schema.items !== undefined)
      return { kind: 'list', item: this.#of(schema.items, type.itemsType ?? {}) };
    if (schema.values !== undefined) {
      const value = this.#of(schema.values, type.valuesType ?? {});
      return { kind: 'map', key: { kind: 'utf8' }, value };
    }
    if (schema.type === 'enum') return { kind: 'utf8' };
    if (schema.type === 'fixed') return { kind: 'binary' };
    return this.#of(schema.type, type);
  }
}

function isUnion(schema: Schema): schema is readonly Schema[] {
  return Array.isArray(schema);
}

const PRIMITIVES: Readonly<Record<string, RecordType>> = {
  null: JSON_TYPE,
  boolean: { kind: 'bool' },
  int: { kind: 'int32' },
  long: { kind: 'int64' },
  float: { kind: 'float32' },
  double: { kind: 'float64' },
  bytes: { kind: 'binary' },
  string: { kind: 'utf8' },
};

export function primitiveType(name: string): RecordType | undefined {
  return Object.hasOwn(PRIMITIVES, name) ? PRIMITIVES[name] : undefined;
}

const WIDER: Readonly<Record<string, SimpleTypeName>> = { int32: 'int64', float32: 'float64' };

/** A union of two widths of one kind of number is the wider one; of other types, any of them. */
function commonType(branches: readonly RecordType[]): RecordType {
  const [first = JSON_TYPE, ...others] = branches;
  if (others.length === 0) return first;
  const wide = branches.map(({ kind }) => WIDER[kind] ?? kind);
  return wide.every((kind) => kind === wide[0] && (kind === 'int64' || kind === 'float64'))
    ? ({ kind: wide[0] } as RecordType)
    : JSON_TYPE;
}

/** The type of a schema with a logical type; `undefined` for those without, and unknown ones. */
export function logicalType(schema: SchemaObject): RecordType | undefined {
  const name = logicalName(schema);
  switch (name) {
    case 'decimal': {
      const { precision, scale = 0 } = schema;
      return precision === undefined ? { kind: 'decimal' } : { kind: 'decimal', precision, scale };
    }
    case 'date':
      return { kind: 'date' };
    case 'time-millis':
    case 'time-micros':
      return { kind: 'time' };
    case 'uuid':
      return { kind: 'uuid' };
    case 'duration':
      return { kind: 'interval' };
    case 'json':
      return JSON_TYPE;
    default:
      return timestampType(name ?? '');
  }
}

const UNITS: Readonly<Record<string, TimeUnit>> = { millis: 'ms', micros: 'us', nanos: 'ns' };

function timestampType(name: string): RecordType | undefined {
  const [, local, named = ''] = /^(local-)?timestamp-(\w+)$/.exec(name) ?? [];
  const unit = UNITS[named];
  if (unit === undefined) return undefined;
  return local === undefined
    ? { kind: 'timestamp', unit, zone: 'UTC' }
    : { kind: 'timestamp', unit };
}
