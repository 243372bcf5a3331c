/** Columns of a Parquet file that a document declares. */
import { z } from 'zod';
import type { RecordType } from '../../../kit/record-schema.ts';
import { boolean, finding, integer, text } from '../../../kit/schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { exactField } from '../../../lib/text/json-literal.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { kindOfType, kindText, MOST_DIGITS, type ColumnKind } from '../typed/column-kinds.ts';
import { fit } from '../typed/fit-value.ts';

/** Timestamps have no zone: texts with an offset are stored in UTC. */
const TYPES = {
  boolean: { kind: 'bool' },
  int32: { kind: 'int32' },
  int64: { kind: 'int64' },
  uint64: { kind: 'uint64' },
  float32: { kind: 'float32' },
  float64: { kind: 'float64' },
  string: { kind: 'utf8' },
  date: { kind: 'date' },
  timestamp_ms: { kind: 'timestamp', unit: 'ms' },
  timestamp_us: { kind: 'timestamp', unit: 'us' },
  timestamp_ns: { kind: 'timestamp', unit: 'ns' },
} as const satisfies Readonly<Record<string, RecordType>>;

type TypeName = keyof typeof TYPES;

const decimal = z.lazy(() =>
  z.strictObject({
    decimal: z
      .strictObject({
        precision: integer({ min: 1, max: MOST_DIGITS }).meta({ description: 'Digits in all.' }),
        scale: integer({ min: 0, max: MOST_DIGITS }).meta({
          description: 'Digits of the fraction.',
        }),
      })
      .refine(({ precision, scale }) => scale <= precision, {
        message: '`scale` must not be greater than `precision`',
        path: ['scale'],
      })
      .meta({ description: 'A number with exactly these digits.' }),
  }),
);

const column = z.lazy(() =>
  z.strictObject({
    name: text().meta({ description: 'Name of the column and of the field.' }),
    type: z
      .union([z.enum(Object.keys(TYPES) as [TypeName, ...TypeName[]]), decimal])
      .meta({ description: 'Type of the column.' }),
    nullable: boolean()
      .default(true)
      .meta({ description: 'Whether the field may be absent or null.' }),
  }),
);

export const parquetColumns = z.lazy(() =>
  z
    .array(column)
    .min(1)
    .superRefine((columns, ctx) => {
      const names = columns.map(({ name }) => name);
      const twice = names.findIndex((name, index) => names.indexOf(name) < index);
      if (twice !== -1)
        ctx.addIssue(
          finding('invalid_value', `the column \`${names[twice] ?? ''}\` is declared twice`, {
            path: [twice, 'name'],
          }),
        );
    }),
);

export type DeclaredColumn = z.output<typeof column>;

export function kindsOf(columns: readonly DeclaredColumn[]): ReadonlyMap<string, ColumnKind> {
  return new Map(
    columns.map(({ name, type }) => [
      name,
      kindOfType(typeof type === 'string' ? TYPES[type] : { kind: 'decimal', ...type.decimal }),
    ]),
  );
}

/** Throws when one of the records has another field, or no value, or one of another type. */
export function requireDeclared(
  records: readonly JsonObject[],
  columns: readonly DeclaredColumn[],
): void {
  const kinds = kindsOf(columns);
  const dropped = refuseField;
  for (const record of records) {
    for (const name of Object.keys(record)) if (!kinds.has(name)) refuseField(name);
    for (const { name, nullable } of columns) {
      const kind = kinds.get(name) as ColumnKind;
      const stored = fit(exactField(record, name), kind, { path: name, dropped });
      if (stored === undefined && !nullable) throw missing(name, kind);
    }
  }
}

function refuseField(path: string): never {
  throw new ConnectorError(
    'data',
    `the field ${JSON.stringify(path)} is not in the schema of the file`,
    { hint: 'add it to `parquet.schema`, or remove it with a `drop` transform' },
  );
}

function missing(name: string, kind: ColumnKind): ConnectorError {
  return new ConnectorError(
    'data',
    `the field ${JSON.stringify(name)} is ${kindText(kind)} and not nullable, but a record has no value there`,
    {
      hint: 'fill it with a `coalesce` transform, or declare it as `nullable` in `parquet.schema`',
    },
  );
}
