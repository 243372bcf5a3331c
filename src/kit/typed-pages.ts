/** Gives the fields of pages the types that they are said to have. */
import { ConnectorError } from '../lib/errors.ts';
import { hasField, isObject, type JsonValue } from '../lib/text/json.ts';
import { Page } from './page.ts';
import type { RecordSchema, RecordType } from './record-schema.ts';
import { cellKinds, typedColumns, type TypedField } from './typed-columns.ts';
import { valueConverter } from './typed-conversion.ts';
import { typeText } from './type-text.ts';

/** Why a source with declared columns gives no bytes of its file. */
export const TYPES_CHANGE = '`columns` gives fields types';

export interface TypedPagesOptions {
  /** Name of the input in errors. */
  readonly name: string;
  /** Values are texts, of which an empty one is no value of other types than utf8. */
  readonly fromText: boolean;
}

/** Pages keep their form. */
export async function* typedPages(
  pages: AsyncIterable<Page>,
  schema: RecordSchema,
  { name, fromText }: TypedPagesOptions,
): AsyncGenerator<Page, void> {
  const fields = schema.fields.map((field) => ({
    field,
    convert: valueConverter(field.type, fromText),
    kindOf: cellKinds(field.type, { fromText, texts: true }),
  }));
  let before = 0;
  for await (const page of pages) {
    const columns = page.columns === undefined ? undefined : typedColumns(page.columns, fields);
    const place = (index: number): string => `record ${before + index + 1} of ${name}`;
    const options = { ...optionsOf(page), schema };
    if (columns === undefined) {
      const records = page.records().map((record, index) => typed(record, fields, index, place));
      page.release();
      yield Page.ofRecords(records, options);
    } else yield Page.ofColumns(columns, { ...options, release: () => page.release() });
    before += page.count;
  }
}

function optionsOf({ bytes, bookmark }: Page): { bytes: number; bookmark?: JsonValue } {
  return bookmark === undefined ? { bytes } : { bytes, bookmark };
}

// Called for single records: an object for the arguments would cost time.
// oxlint-disable-next-line max-params
function typed(
  record: JsonValue,
  fields: readonly TypedField[],
  index: number,
  place: (index: number) => string,
): JsonValue {
  if (!isObject(record)) return record;
  const changed = { ...record };
  for (const { field, convert } of fields) {
    const { name, nullable } = field;
    const value = hasField(record, name) ? (record[name] as JsonValue) : null;
    const converted = convert(value);
    if (converted === undefined) throw misfit(field, place(index));
    if (converted === null && !nullable) throw lacking(field, place(index));
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
