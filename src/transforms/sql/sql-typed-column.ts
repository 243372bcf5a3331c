/** The values of a field whose type is known, on their way into the analytical engine. */
import type { DuckdbColumn } from '../../lib/sql/duckdb.ts';
import { fromText, textFor } from '../../lib/sql/duckdb-from-text.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { NOT_FINITE } from '../../kit/typed-values.ts';

export interface TypedColumn {
  readonly column: DuckdbColumn;
  /** Gives the values their type, from a column of the table they travel in. */
  readonly expression: (from: string) => string;
}

const WHOLE = new Set([
  'TINYINT',
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'UTINYINT',
  'USMALLINT',
  'UINTEGER',
]);
const FLOATS = new Set(['FLOAT', 'DOUBLE']);
/** The engine counts microseconds, and would round what is finer. */
const TOO_FINE = /\.\d{6}\d*[1-9]/;

export function loadTyped(
  name: string,
  sqlType: string,
  values: readonly JsonValue[],
): TypedColumn {
  const cast = (from: string): string => `CAST(${from} AS ${sqlType})`;
  const are = (isFit: (value: JsonValue) => boolean): boolean =>
    values.every((value) => value === null || isFit(value));
  if (sqlType === 'BOOLEAN' && are((value) => typeof value === 'boolean'))
    return { column: { type: 'BOOLEAN', values: values as (boolean | null)[] }, expression: cast };
  if (WHOLE.has(sqlType) && are(isWhole))
    return {
      column: {
        type: 'BIGINT',
        values: values.map((value) => (value === null ? null : BigInt(value as number | bigint))),
      },
      expression: cast,
    };
  if (FLOATS.has(sqlType) && are((value) => typeof value === 'number' || NOT_FINITE.has(value)))
    return {
      column: {
        type: 'DOUBLE',
        values: values.map((value) => (value === null ? null : Number(value))),
      },
      expression: cast,
    };
  const texts = values.map((value) => (value === null ? null : textFor(value, sqlType)));
  if (sqlType === 'TIME' || sqlType === 'TIMESTAMP' || sqlType === 'TIMESTAMPTZ') {
    const fine = texts.find((text) => text !== null && TOO_FINE.test(text));
    if (fine !== undefined)
      throw new Error(
        `the engine counts microseconds, and ${JSON.stringify(name)} has ${JSON.stringify(fine)}`,
      );
  }
  return {
    column: { type: 'VARCHAR', values: texts },
    expression: (from) => (sqlType === 'VARCHAR' ? from : fromText(from, sqlType)),
  };
}

function isWhole(value: JsonValue): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value;
  return Number.isSafeInteger(value);
}
