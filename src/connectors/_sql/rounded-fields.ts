/** Values that a column of a table does not hold exactly: they are counted, or refused. */
import { ConnectorError } from '../../lib/errors.ts';
import { jsonText, type JsonValue } from '../../lib/text/json.ts';
import type { RecordType } from '../../kit/record-schema.ts';
import type { LiveColumn, RowSet, SqlDriver } from './driver.ts';
import { changes, type OnRounding, type Rounding } from './rounding.ts';

export interface RoundingCheck {
  readonly of: SqlDriver['roundingOf'];
  readonly policy: OnRounding | undefined;
  readonly typeOf: (column: LiveColumn) => RecordType | undefined;
}

/** In how many rows each column changes a value. Throws where such values are refused. */
export function roundedFields(
  sets: readonly RowSet[],
  { of, policy, typeOf }: RoundingCheck,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { columns, rows } of sets) {
    for (const [place, column] of columns.entries()) {
      const rounding = of(column, typeOf(column));
      if (rounding === undefined) continue;
      const rounded = rows
        .map((row) => row[place] ?? null)
        .filter((value) => changes(value, rounding));
      if (rounded.length === 0) continue;
      const refused = refusedOf(rounded, rounding, policy);
      if (refused !== undefined) throw refusal(column, refused);
      counts.set(column.name, (counts.get(column.name) ?? 0) + rounded.length);
    }
  }
  return counts;
}

function refusedOf(
  values: readonly JsonValue[],
  { refuses }: Rounding,
  policy: OnRounding | undefined,
): JsonValue | undefined {
  if (policy === 'error') return values[0];
  if (policy === 'warn' || refuses === undefined) return undefined;
  return values.find((value) => changes(value, { rounds: refuses }));
}

function refusal(column: LiveColumn, value: JsonValue): ConnectorError {
  const type = column.limits ?? column.sqlType;
  return new ConnectorError(
    'data',
    `the column \`${column.name}\` is ${type}, which would round ${jsonText(value)}`,
    {
      hint: 'give the column a wider type, let `schema.on_drift: evolve` widen it, or set `on_rounding: warn`',
    },
  );
}
