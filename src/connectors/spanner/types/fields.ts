/** Types of a result, as Spanner tells them. */
import type { RecordField, RecordType } from '../../../kit/record-schema.ts';
import { CODES, type StructField, type StructType, type ValueType } from '../api.ts';

export const SYSTEM = 'spanner';

const NAMES: Readonly<Record<number, string>> = {
  [CODES.BOOL]: 'BOOL',
  [CODES.INT64]: 'INT64',
  [CODES.FLOAT64]: 'FLOAT64',
  [CODES.FLOAT32]: 'FLOAT32',
  [CODES.TIMESTAMP]: 'TIMESTAMP',
  [CODES.DATE]: 'DATE',
  [CODES.STRING]: 'STRING(MAX)',
  [CODES.BYTES]: 'BYTES(MAX)',
  [CODES.NUMERIC]: 'NUMERIC',
  [CODES.JSON]: 'JSON',
  [CODES.UUID]: 'UUID',
};

const SIMPLE: Readonly<Record<number, RecordType>> = {
  [CODES.BOOL]: { kind: 'bool' },
  [CODES.INT64]: { kind: 'int64' },
  // The number of a name; the names are known to programs only.
  [CODES.ENUM]: { kind: 'int64' },
  [CODES.FLOAT64]: { kind: 'float64' },
  [CODES.FLOAT32]: { kind: 'float32' },
  [CODES.TIMESTAMP]: { kind: 'timestamp', unit: 'ns', zone: 'UTC' },
  [CODES.DATE]: { kind: 'date' },
  [CODES.BYTES]: { kind: 'binary' },
  [CODES.PROTO]: { kind: 'binary' },
  [CODES.NUMERIC]: { kind: 'decimal', precision: 38, scale: 9 },
  [CODES.JSON]: { kind: 'json' },
  [CODES.INTERVAL]: { kind: 'interval' },
  [CODES.UUID]: { kind: 'uuid' },
};

const UNKNOWN: ValueType = { code: 0 };

export function recordTypeOf({ code, item, struct }: ValueType = UNKNOWN): RecordType {
  if (code === CODES.ARRAY) return { kind: 'list', item: recordTypeOf(item) };
  if (code === CODES.STRUCT) return { kind: 'struct', fields: fieldsOf(struct).map(recordFieldOf) };
  return SIMPLE[code] ?? { kind: 'utf8' };
}

/** A field of a struct may have no name. */
export function fieldsOf(struct: StructType | undefined): readonly StructField[] {
  return (struct?.fields ?? []).map((field, at) =>
    field.name === '' ? { ...field, name: `_${at + 1}` } : field,
  );
}

/** For a column; `undefined` where no column has the type. */
function columnType({ code, item }: ValueType = UNKNOWN): string | undefined {
  if (code !== CODES.ARRAY) return NAMES[code];
  const of = columnType(item);
  return of === undefined ? undefined : `ARRAY<${of}>`;
}

/** Results do not tell which of their columns may be null. */
export function recordFieldOf({ name, type }: StructField): RecordField {
  const native = columnType(type);
  return {
    name,
    type: recordTypeOf(type),
    nullable: true,
    ...(native === undefined ? {} : { native: { system: SYSTEM, name: native } }),
  };
}
