/** The columns of a file as elements of its schema. */
import type { LogicalType, SchemaElement } from 'hyparquet';
import type { RecordType } from '../../../kit/record-schema.ts';
import { assert } from '../../../lib/errors.ts';
import type { ColumnKind } from '../typed/column-kinds.ts';

/** Every column may be null. */
export function schemaOf(columns: ReadonlyMap<string, ColumnKind>): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.size },
    ...[...columns].flatMap(([name, kind]) => elementsOf(name, kind)),
  ];
}

function elementsOf(name: string, kind: ColumnKind): SchemaElement[] {
  const repetition_type = 'OPTIONAL' as const;
  switch (kind.is) {
    case 'boolean':
      return [{ name, type: 'BOOLEAN', repetition_type }];
    case 'integer':
      return [{ name, type: 'INT64', repetition_type }];
    case 'number':
      return [{ name, type: 'DOUBLE', repetition_type }];
    case 'json':
      return [{ name, type: 'BYTE_ARRAY', converted_type: 'JSON', repetition_type }];
    case 'typed':
      return [{ name, repetition_type, ...storageOf(kind.type), ...annotationOf(kind.type) }];
    case 'list':
      return [
        { name, repetition_type, converted_type: 'LIST', num_children: 1 },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        ...elementsOf('element', kind.of),
      ];
    case 'map': {
      const [key, ...belowKey] = elementsOf('key', kind.key) as [SchemaElement];
      return [
        { name, repetition_type, converted_type: 'MAP', num_children: 1 },
        { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
        { ...key, repetition_type: 'REQUIRED' },
        ...belowKey,
        ...elementsOf('value', kind.value),
      ];
    }
    case 'struct':
      return [
        { name, repetition_type, num_children: kind.fields.size },
        ...[...kind.fields].flatMap(([field, inner]) => elementsOf(field, inner)),
      ];
    default:
      return [{ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type }];
  }
}

/**
 * The same schema without the annotation of JSON, with which the library would encode texts that are
 * JSON already.
 */
export function withoutJson(elements: readonly SchemaElement[]): SchemaElement[] {
  return elements.map((element) => {
    if (element.converted_type !== 'JSON') return element;
    const { converted_type: _json, ...stored } = element;
    return stored;
  });
}

type Storage = Pick<SchemaElement, 'type' | 'type_length'>;

/** Bytes of a decimal of up to 38 digits. */
const DECIMAL_BYTES = 16;

function storageOf(type: RecordType): Storage {
  switch (type.kind) {
    case 'int8':
    case 'int16':
    case 'int32':
    case 'uint8':
    case 'uint16':
    case 'uint32':
    case 'date':
      return { type: 'INT32' };
    case 'float32':
      return { type: 'FLOAT' };
    case 'float64':
      return { type: 'DOUBLE' };
    case 'binary':
      return { type: 'BYTE_ARRAY' };
    case 'interval':
      return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 12 };
    case 'uuid':
      return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 };
    case 'decimal':
      return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: DECIMAL_BYTES };
    default:
      return { type: 'INT64' };
  }
}

type Annotation = Pick<SchemaElement, 'converted_type' | 'logical_type' | 'precision' | 'scale'>;

const PARQUET_UNITS = { s: 'MILLIS', ms: 'MILLIS', us: 'MICROS', ns: 'NANOS' } as const;

function annotationOf(type: RecordType): Annotation {
  switch (type.kind) {
    case 'int8':
    case 'int16':
    case 'int32':
      return { converted_type: `INT_${Number(type.kind.slice(3)) as 8 | 16 | 32}` };
    case 'uint8':
    case 'uint16':
    case 'uint32':
    case 'uint64':
      return { converted_type: `UINT_${Number(type.kind.slice(4)) as 8 | 16 | 32 | 64}` };
    case 'decimal': {
      const { precision = 0, scale = 0 } = type;
      const logical_type: LogicalType = { type: 'DECIMAL', precision, scale };
      return { converted_type: 'DECIMAL', logical_type, precision, scale };
    }
    case 'interval':
      return { converted_type: 'INTERVAL' };
    case 'uuid':
      return { logical_type: { type: 'UUID' } };
    default:
      return timeAnnotation(type) ?? {};
  }
}

/** Of the types that are stored as plain numbers; `undefined` for others. */
function timeAnnotation(type: RecordType): Annotation | undefined {
  switch (type.kind) {
    case 'date':
      return { converted_type: 'DATE', logical_type: { type: 'DATE' } };
    case 'time':
      return { logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: 'MICROS' } };
    case 'timestamp':
      // The older annotation means an instant to every reader, so local times go without it.
      return {
        logical_type: {
          type: 'TIMESTAMP',
          isAdjustedToUTC: type.zone !== undefined,
          unit: PARQUET_UNITS[type.unit],
        },
      };
    default:
      return undefined;
  }
}

/**
 * The schema that the engine wrote, with dates and times in the place of the numbers that were
 * given to it.
 */
export function withTimes(
  written: readonly SchemaElement[],
  columns: ReadonlyMap<string, ColumnKind>,
): SchemaElement[] {
  const elements = [...written];
  let at = 1;
  const walk = (kind: ColumnKind): void => {
    const own = at;
    at += 1;
    if (kind.is === 'list') {
      at += 1;
      walk(kind.of);
    } else if (kind.is === 'map') {
      at += 1;
      walk(kind.key);
      walk(kind.value);
    } else if (kind.is === 'struct') {
      for (const inner of kind.fields.values()) walk(inner);
    } else if (kind.is === 'typed') {
      const times = timeAnnotation(kind.type);
      if (times === undefined) return;
      const {
        converted_type: _number,
        logical_type: _also,
        ...stored
      } = elements[own] as SchemaElement;
      elements[own] = { ...stored, ...times };
    }
  };
  for (const kind of columns.values()) walk(kind);
  assert(at === elements.length, 'the engine writes the columns that it was given');
  return elements;
}

/** The names of a field and of those above it as one text; names may have dots. */
export function pathOf(...names: readonly string[]): string {
  return names.join('\u0000');
}

/** The same schema, whose fields have these ids by their paths. */
export function withFieldIds(
  elements: readonly SchemaElement[],
  ids: ReadonlyMap<string, number> | undefined,
): SchemaElement[] {
  if (ids === undefined) return [...elements];
  const out: SchemaElement[] = [];
  const walk = (at: number, above: string | undefined): number => {
    const element = elements[at] as SchemaElement;
    const path = above === undefined || above === '' ? element.name : pathOf(above, element.name);
    const id = above === undefined ? undefined : ids.get(path);
    out.push(id === undefined ? element : { ...element, field_id: id });
    let next = at + 1;
    for (let left = element.num_children ?? 0; left > 0; left -= 1)
      next = walk(next, above === undefined ? '' : path);
    return next;
  };
  walk(0, undefined);
  return out;
}

/** Whether the library keeps the bounds of a column when it reads them and writes them again. */
export function keepsBounds({ type, converted_type, logical_type }: SchemaElement): boolean {
  if (converted_type === 'DECIMAL' || logical_type?.type === 'UUID') return false;
  return type !== 'BYTE_ARRAY' || converted_type === 'UTF8';
}
