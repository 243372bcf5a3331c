/** The `columns` of a source whose data has no types: what fields hold is told, and made so. */
import { z } from 'zod';
import { ConnectorError } from '../lib/errors.ts';
import { hasField, isObject, type JsonValue } from '../lib/text/json.ts';
import type { Page } from './page.ts';
import {
  knownSchema,
  type RecordField,
  type RecordSchema,
  type RecordType,
} from './record-schema.ts';
import { boolean, finding, nullAsAbsent, text } from './schema.ts';
import { parseType, TYPE_FORMS, typeText } from './type-text.ts';
import { valueConverter } from './typed-conversion.ts';

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

/** Why a source with declared columns gives records only. */
export const TYPES_RECORDS = '`columns` gives fields types';

interface Converted {
  readonly field: RecordField;
  readonly convert: (value: JsonValue) => JsonValue | undefined;
}

/** `fromText`: values are texts, of which an empty one is no value of other types than utf8. */
export async function* typedPages(
  pages: AsyncIterable<Page>,
  schema: RecordSchema,
  { name, fromText }: { readonly name: string; readonly fromText: boolean },
): AsyncGenerator<Page, void> {
  const fields = schema.fields.map((field) => ({
    field,
    convert: valueConverter(field.type, fromText),
  }));
  let before = 0;
  for await (const page of pages) {
    const records = page
      .records()
      .map((record, index) =>
        typed(record, fields, () => `record ${before + index + 1} of ${name}`),
      );
    const made = page.withRecords(records).withSchema(schema);
    before += page.count;
    page.release();
    yield made;
  }
}

function typed(record: JsonValue, fields: readonly Converted[], place: () => string): JsonValue {
  if (!isObject(record)) return record;
  const changed = { ...record };
  for (const { field, convert } of fields) {
    const { name, nullable } = field;
    const value = hasField(record, name) ? (record[name] as JsonValue) : null;
    const converted = convert(value);
    if (converted === undefined) throw misfit(field, place());
    if (converted === null && !nullable) throw lacking(field, place());
    if (hasField(record, name)) changed[name] = converted;
  }
  return changed;
}

function misfit({ name, type }: { name: string; type: RecordType }, place: string): ConnectorError {
  return new ConnectorError('data', `\`${name}\` in ${place} is no ${typeText(type)}`, {
    hint: 'declare the column as `utf8` and convert it with a `cast` transform that may fail, or correct the data',
  });
}

function lacking({ name }: { name: string }, place: string): ConnectorError {
  return new ConnectorError('data', `\`${name}\` in ${place} has no value`, {
    hint: 'set `nullable: true` in `columns`, or correct the data',
  });
}
