/** The columns of a file as an Avro schema. Every field may be null. */
import type { RecordType } from '../../../kit/record-schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { ColumnKind } from '../typed/column-kinds.ts';
import type { Schema } from './avro-values.ts';

const NAME = /^[A-Za-z_]\w*$/;

export function avroSchemaOf(columns: ReadonlyMap<string, ColumnKind>): Schema {
  return new SchemaBuilder().record('record', columns, '');
}

class SchemaBuilder {
  /** The types of a file have names, each of them once. */
  readonly #names = new Set<string>();

  record(name: string, fields: ReadonlyMap<string, ColumnKind>, path: string): Schema {
    const own = this.#unused(name);
    return {
      type: 'record',
      name: own,
      fields: [...fields].map(([field, kind]) => {
        requireName(field, path + field);
        const type = this.#of(kind, `${name}_${field}`, `${path}${field}.`);
        return { name: field, type: ['null', type], default: null };
      }),
    };
  }

  #unused(name: string): string {
    let own = name;
    for (let number = 2; this.#names.has(own); number += 1) own = `${name}_${number}`;
    this.#names.add(own);
    return own;
  }

  #of(kind: ColumnKind, name: string, path: string): Schema {
    switch (kind.is) {
      case 'boolean':
        return 'boolean';
      case 'integer':
        return 'long';
      case 'number':
        return 'double';
      case 'json':
        return { type: 'string', logicalType: 'json' };
      case 'list':
        return { type: 'array', items: ['null', this.#of(kind.of, `${name}_item`, path)] };
      case 'struct':
        return this.record(name, kind.fields, path);
      case 'map':
        return this.#map(kind, name, path);
      case 'typed':
        return kind.type.kind === 'interval'
          ? { type: 'fixed', name: this.#unused(name), size: 12, logicalType: 'duration' }
          : typedSchema(kind.type);
      default:
        return 'string';
    }
  }

  /** Keys of Avro maps are texts. Other maps are lists of their entries. */
  #map(kind: Extract<ColumnKind, { is: 'map' }>, name: string, path: string): Schema {
    if (kind.key.is === 'string')
      return { type: 'map', values: ['null', this.#of(kind.value, `${name}_value`, path)] };
    const entry = new Map([
      ['key', kind.key],
      ['value', kind.value],
    ]);
    return { type: 'array', items: this.record(`${name}_entry`, entry, path) };
  }
}

function requireName(name: string, path: string): void {
  if (NAME.test(name)) return;
  throw new ConnectorError(
    'data',
    `the field ${JSON.stringify(path)} cannot have this name in an Avro file`,
    {
      hint: 'names of Avro are letters, digits and `_` of ASCII and begin with no digit: give it another one with a `rename_field` or `keys_case` transform',
    },
  );
}

function typedSchema(type: RecordType): Schema {
  switch (type.kind) {
    case 'int8':
    case 'int16':
    case 'int32':
    case 'uint8':
    case 'uint16':
      return 'int';
    case 'uint32':
      return 'long';
    case 'uint64':
      return { type: 'bytes', logicalType: 'decimal', precision: 20, scale: 0 };
    case 'float32':
      return 'float';
    case 'float64':
      return 'double';
    case 'binary':
      return 'bytes';
    case 'date':
      return { type: 'int', logicalType: 'date' };
    case 'time':
      return { type: 'long', logicalType: 'time-micros' };
    case 'uuid':
      return { type: 'string', logicalType: 'uuid' };
    case 'decimal': {
      const { precision = 0, scale = 0 } = type;
      return { type: 'bytes', logicalType: 'decimal', precision, scale };
    }
    case 'timestamp': {
      const local = type.zone === undefined ? 'local-' : '';
      return { type: 'long', logicalType: `${local}timestamp-${UNITS[type.unit]}` };
    }
    default:
      return 'string';
  }
}

/** Avro has no unit of whole seconds. */
const UNITS = { s: 'millis', ms: 'millis', us: 'micros', ns: 'nanos' } as const;
