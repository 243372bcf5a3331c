/** The `columns` of a source whose data has no types: what fields hold is told, and made so. */
import { z } from 'zod';
import { knownSchema, type RecordSchema } from './record-schema.ts';
import { boolean, finding, nullAsAbsent, text } from './schema.ts';
import type { SourceCapabilities } from './source.ts';
import { parseType, TYPE_FORMS } from './type-text.ts';

function typeName() {
  return text()
    .superRefine((written, ctx) => {
      if (parseType(written) !== undefined) return;
      const hint = `types: ${TYPE_FORMS}`;
      ctx.addIssue(finding('invalid_value', `there is no type \`${written}\``, { hint }));
    })
    .meta({ description: 'Type of the values.', examples: ['decimal(12, 2)'] });
}

/** Accepts `{name: type}` and `[{name, type, nullable}]`. */
export function declaredColumns() {
  const listed = z.array(
    z.strictObject({
      name: text().meta({ description: 'Name of the field.' }),
      type: typeName(),
      nullable: boolean()
        .default(true)
        .meta({ description: 'Whether null is allowed, and records without the field.' }),
    }),
  );
  return nullAsAbsent(
    z
      .union([z.record(text(), typeName()), listed])
      .optional()
      .transform(fieldsOf),
  ).meta({
    description:
      'Types of fields, by name. Values are converted, and one that does not fit fails the run; sinks create columns of these types. Other fields stay as they are.',
    examples: [
      { id: 'int64', price: 'decimal(12, 2)', paid_at: 'timestamp(us, UTC)' },
      [{ name: 'id', type: 'int64', nullable: false }],
    ],
  });
}

export function inferTypes() {
  return boolean().default(false).meta({
    description:
      'Whether fields that `columns` does not name get the types that the first values have; `plan` shows which, and why. A later value that does not fit fails the run.',
  });
}

/** What a source is told of the types of its fields. */
export interface TypesConfig {
  readonly columns?: RecordSchema | undefined;
  readonly infer_types: boolean;
}

/** The encodings of a source whose bytes have no types. */
export function encodingsOf(
  { columns, infer_types: infers }: TypesConfig,
  encodings: readonly string[],
): Pick<SourceCapabilities, 'encodings' | 'without'> {
  if (columns === undefined && !infers) return { encodings };
  const why = `\`${infers ? 'infer_types' : 'columns'}\` gives fields types`;
  return { encodings: [], without: { encodings, why } };
}

interface ListedColumn {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
}

function fieldsOf(
  written: Readonly<Record<string, string>> | readonly ListedColumn[] | undefined,
): RecordSchema | undefined {
  if (written === undefined) return undefined;
  const listed = isList(written)
    ? written
    : Object.entries(written).map(([name, type]) => ({ name, type, nullable: true }));
  const fields = listed.flatMap(({ name, type, nullable }) => {
    const parsed = parseType(type);
    return parsed === undefined ? [] : [{ name, type: parsed, nullable }];
  });
  return knownSchema({ fields, others: true });
}

function isList(written: object): written is readonly ListedColumn[] {
  return Array.isArray(written);
}
