/** Gives the fields of pages the types that they are said to have. */
import { ConnectorError } from '../lib/errors.ts';
import { hasField, isObject, type JsonValue } from '../lib/text/json.ts';
import type { Page } from './page.ts';
import type { RecordField, RecordSchema, RecordType } from './record-schema.ts';
import { valueConverter } from './typed-conversion.ts';
import { typeText } from './type-text.ts';

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
