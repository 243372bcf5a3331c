/** Values of the engine as the API gives them. */
import {
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import { isMarked, markOf, type Field } from './types.ts';

/** A row: `{f: [{v}, …]}`. */
export function apiRow(fields: readonly Field[], values: readonly DuckDBValue[]): unknown {
  return { f: fields.map((field, at) => ({ v: apiValue(field, values[at] ?? null) })) };
}

function apiValue(field: Field, value: DuckDBValue): unknown {
  if (field.mode === 'REPEATED') {
    const items = value instanceof DuckDBListValue ? value.items : [];
    return items.map((item) => ({ v: apiItem(field, item) }));
  }
  return apiItem(field, value);
}

function apiItem(field: Field, value: DuckDBValue): unknown {
  if (value === null) return null;
  if (value instanceof DuckDBStructValue) {
    if (isMarked(field)) {
      const text = String(value.entries[markOf(field)]);
      return field.type === 'BIGNUMERIC' ? withoutZeros(text) : text;
    }
    return apiRow(
      field.fields ?? [],
      (field.fields ?? []).map(({ name }) => value.entries[name] ?? null),
    );
  }
  if (value instanceof DuckDBTimestampTZValue) return String(value.micros);
  if (value instanceof DuckDBTimestampValue) return value.toString().replace(' ', 'T');
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('base64');
  if (value instanceof DuckDBDecimalValue) return withoutZeros(value.toString());
  if (value instanceof DuckDBDateValue || value instanceof DuckDBTimeValue) return value.toString();
  if (typeof value === 'number') return numberText(value);
  return String(value);
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function numberText(value: number): string {
  const text = Object.is(value, -0) ? '-0' : String(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}
