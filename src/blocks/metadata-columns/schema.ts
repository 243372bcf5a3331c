import { z } from 'zod';
import { boolean, finding, nullAsAbsent } from '../../kit/schema.ts';

export const METADATA_COLUMNS = [
  'extracted_at',
  'loaded_at',
  'run_id',
  'source',
  'sequence',
] as const;
export type MetadataColumn = (typeof METADATA_COLUMNS)[number];

const DEFAULT_COLUMNS: readonly MetadataColumn[] = [
  'extracted_at',
  'loaded_at',
  'run_id',
  'source',
];

export const metadataColumnsSchema = z.lazy(() =>
  z.strictObject({
    enabled: nullAsAbsent(boolean().default(true)).meta({
      description: 'Whether the columns are added.',
    }),
    prefix: nullAsAbsent(
      z
        .string()
        .default('_svc')
        .superRefine((value, ctx) => {
          if (value.trim() === '') ctx.addIssue(finding('invalid_value', 'must not be blank'));
        }),
    ).meta({ description: 'Columns are called `<prefix>_<column>`.' }),
    columns: nullAsAbsent(z.array(z.enum(METADATA_COLUMNS)).default([])).meta({
      description: `Which columns are added; ${DEFAULT_COLUMNS.map((one) => `\`${one}\``).join(', ')} when absent or empty.`,
    }),
  }),
);
export type MetadataColumnsSpec = z.infer<typeof metadataColumnsSchema>;

/** A column and the name it has in a record. */
export interface NamedColumn {
  readonly column: MetadataColumn;
  readonly name: string;
}

/** The columns a block asks for; `undefined` when it asks for none. */
export function metadataColumnsOf({
  enabled,
  prefix,
  columns,
}: MetadataColumnsSpec): readonly NamedColumn[] | undefined {
  if (!enabled) return undefined;
  const chosen = columns.length === 0 ? DEFAULT_COLUMNS : [...new Set(columns)];
  return chosen.map((column) => ({ column, name: `${prefix}_${column}` }));
}
