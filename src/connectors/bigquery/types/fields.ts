/** Columns as BigQuery describes them in a schema. */
import { columnTypeFor } from '../../../kit/typed-values.ts';
import type { RecordField, RecordType } from '../../../kit/record-schema.ts';
import type { ColumnType } from '../../../kit/sink.ts';
import { isObject, jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { backticked } from '../../_google/backticked.ts';
import type { LiveColumn } from '../../_sql/driver.ts';

export const SYSTEM = 'bigquery';

export interface TableField {
  readonly name: string;
  /** The name of standard SQL; that of the items where it is repeated. */
  readonly type: string;
  readonly isRepeated: boolean;
  readonly isRequired: boolean;
  readonly hasDefault: boolean;
  /** Those of a `STRUCT`. */
  readonly fields: readonly TableField[];
  readonly precision?: number;
  readonly scale?: number;
  readonly maxLength?: number;
  /** Of a `RANGE`. */
  readonly element?: string;
}

/** Names of legacy SQL, which schemas have. */
const STANDARD: Readonly<Record<string, string>> = {
  INTEGER: 'INT64',
  FLOAT: 'FLOAT64',
  BOOLEAN: 'BOOL',
  RECORD: 'STRUCT',
  DECIMAL: 'NUMERIC',
  BIGDECIMAL: 'BIGNUMERIC',
};

export function fieldsIn(schema: readonly JsonValue[]): TableField[] {
  return schema.filter(isObject).map((field) => {
    const { name, type, mode, fields, rangeElementType: element } = field;
    const told = jsonText(type ?? '').toUpperCase();
    return {
      name: jsonText(name ?? ''),
      type: STANDARD[told] ?? told,
      isRepeated: mode === 'REPEATED',
      isRequired: mode === 'REQUIRED',
      hasDefault: typeof field['defaultValueExpression'] === 'string',
      fields: Array.isArray(fields) ? fieldsIn(fields) : [],
      ...numberIn('precision', field['precision']),
      ...numberIn('scale', field['scale']),
      ...numberIn('maxLength', field['maxLength']),
      ...(isObject(element) ? { element: jsonText(element['type'] ?? '') } : {}),
    };
  });
}

function numberIn(name: string, value: JsonValue | undefined): Record<string, number> {
  return value === undefined || value === null ? {} : { [name]: Number(value) };
}

/** As it is written in a statement, with its limits. */
export function sqlType(field: TableField): string {
  return field.isRepeated ? `ARRAY<${itemType(field)}>` : itemType(field);
}

export function itemType({
  type,
  fields,
  precision,
  scale,
  maxLength,
  element,
}: TableField): string {
  if (type === 'STRUCT')
    return `STRUCT<${fields.map((field) => `${backticked(field.name)} ${sqlType(field)}`).join(', ')}>`;
  if (type === 'RANGE') return `RANGE<${element ?? 'DATE'}>`;
  if (maxLength !== undefined) return `${type}(${maxLength})`;
  if (precision === undefined) return type;
  return `${type}(${precision}${scale === undefined ? '' : `, ${scale}`})`;
}

const SIMPLE: Readonly<Record<string, RecordType>> = {
  INT64: { kind: 'int64' },
  FLOAT64: { kind: 'float64' },
  BOOL: { kind: 'bool' },
  STRING: { kind: 'utf8' },
  BYTES: { kind: 'binary' },
  DATE: { kind: 'date' },
  TIME: { kind: 'time' },
  DATETIME: { kind: 'timestamp', unit: 'us' },
  TIMESTAMP: { kind: 'timestamp', unit: 'us', zone: 'UTC' },
  INTERVAL: { kind: 'interval' },
  JSON: { kind: 'json' },
};

const DECIMALS: Readonly<Record<string, readonly [precision: number, scale: number]>> = {
  NUMERIC: [38, 9],
  BIGNUMERIC: [76, 38],
};

export function recordTypeOf(field: TableField): RecordType {
  const item = itemRecordType(field);
  return field.isRepeated ? { kind: 'list', item } : item;
}

function itemRecordType({ type, fields, precision, scale }: TableField): RecordType {
  const most = DECIMALS[type];
  if (most !== undefined)
    return precision === undefined
      ? { kind: 'decimal', precision: most[0], scale: most[1] }
      : { kind: 'decimal', precision, scale: scale ?? 0 };
  if (type === 'STRUCT') return { kind: 'struct', fields: fields.map(recordFieldOf) };
  return SIMPLE[type] ?? { kind: 'utf8' };
}

/** A list is never null here: BigQuery stores a null list as an empty one. */
export function recordFieldOf(field: TableField): RecordField {
  return {
    name: field.name,
    type: recordTypeOf(field),
    nullable: !field.isRequired && !field.isRepeated,
    native: { system: SYSTEM, name: sqlType(field) },
  };
}

/** What the shared sink wants to know of a column, with what only this sink knows. */
export interface BigqueryColumn extends LiveColumn {
  readonly field: TableField;
}

/** The columns of the shared sink are those that this one gave it. */
export function ownColumns(columns: readonly LiveColumn[]): readonly BigqueryColumn[] {
  return columns as readonly BigqueryColumn[];
}

export function liveColumn(field: TableField): BigqueryColumn {
  const type = recordTypeOf(field);
  return {
    name: field.name,
    types: [type.kind === 'decimal' ? 'number' : columnTypeFor(type)] satisfies ColumnType[],
    nullable: !field.isRequired,
    hasDefault: field.hasDefault,
    sqlType: itemType({ ...field, fields: [] }).replace(/[(<].*$/, ''),
    limits: sqlType(field),
    field,
  };
}
