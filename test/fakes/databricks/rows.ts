/** Values and types of the engine as the API writes them. */
import {
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';

export interface Column {
  readonly name: string;
  readonly type_text: string;
  readonly type_name: string;
  readonly type_precision?: number;
  readonly type_scale?: number;
}

/** The text of a type, and the name that the API has for it. */
const TYPES: Readonly<Record<string, readonly [text: string, name: string]>> = {
  BOOLEAN: ['BOOLEAN', 'BOOLEAN'],
  TINYINT: ['TINYINT', 'BYTE'],
  SMALLINT: ['SMALLINT', 'SHORT'],
  INTEGER: ['INT', 'INT'],
  BIGINT: ['BIGINT', 'LONG'],
  HUGEINT: ['DECIMAL(38,0)', 'DECIMAL'],
  FLOAT: ['FLOAT', 'FLOAT'],
  DOUBLE: ['DOUBLE', 'DOUBLE'],
  VARCHAR: ['STRING', 'STRING'],
  BLOB: ['BINARY', 'BINARY'],
  DATE: ['DATE', 'DATE'],
  'TIMESTAMP WITH TIME ZONE': ['TIMESTAMP', 'TIMESTAMP'],
  // The list of names in the API has neither of them.
  TIMESTAMP: ['TIMESTAMP_NTZ', 'TIMESTAMP'],
  JSON: ['VARIANT', 'STRING'],
};

export function columnInfo(name: string, type: DuckDBType | undefined): Column {
  const written = type?.alias ?? type?.toString() ?? 'VARCHAR';
  const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(written) ?? [];
  if (precision !== undefined)
    return {
      name,
      type_text: written,
      type_name: 'DECIMAL',
      type_precision: Number(precision),
      type_scale: Number(scale),
    };
  const [text, api] = TYPES[written] ?? nested(written);
  return { name, type_text: text, type_name: api };
}

function nested(written: string): readonly [string, string] {
  if (written.endsWith('[]')) return [`ARRAY<${nameOf(written.slice(0, -2))}>`, 'ARRAY'];
  if (written.startsWith('STRUCT')) return ['STRUCT<a: INT>', 'STRUCT'];
  return written.startsWith('MAP') ? ['MAP<STRING, STRING>', 'MAP'] : ['STRING', 'STRING'];
}

/** As `full_data_type` of the catalog has it. */
export function nameOf(written: string): string {
  if (written.startsWith('DECIMAL')) return written;
  return (TYPES[written] ?? nested(written))[0];
}

const MICROS = 1000n;

/** Every value is a text, which some of them do not survive: bytes, and digits behind milliseconds. */
export function cellOf(value: DuckDBValue, type?: DuckDBType): string | null {
  if (value === null) return null;
  if (type?.toString() === 'FLOAT' && Number.isFinite(value)) return shortest(Number(value));
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('utf8');
  if (value instanceof DuckDBDateValue) return value.toString();
  if (value instanceof DuckDBTimestampTZValue) return isoOf(value.micros);
  if (value instanceof DuckDBTimestampValue) return isoOf(value.micros).replace('Z', '');
  return String(value);
}

function isoOf(micros: bigint): string {
  const ms = micros / MICROS - (micros < 0n && micros % MICROS !== 0n ? 1n : 0n);
  return new Date(Number(ms)).toISOString();
}

/** The fewest digits that tell a number of 32 bits from its neighbours. */
function shortest(value: number): string {
  for (let digits = 1; digits < 9; digits += 1) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(value);
}
