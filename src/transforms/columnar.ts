/** Payloads, such as reports, that keep cells and the names of their columns apart. */
import { RecordError } from '../lib/errors.ts';
import { hasField, jsonText, setField, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { itemReader } from './reshape/item-path.ts';

/** The names of columns found in a record; a column without a name is `col_<index>`. */
export type ColumnNames = (record: JsonValue) => readonly string[];

export function columnNames(header: string | undefined, label: string | undefined): ColumnNames {
  if (header === undefined) return () => [];
  const readHeader = itemReader(header);
  const readLabel =
    label === undefined ? (item: JsonValue): JsonValue | undefined => item : itemReader(label);
  return (record) => {
    const items = readHeader(record);
    return Array.isArray(items) ? items.map((item, i) => nameOf(readLabel(item), i)) : [];
  };
}

function nameOf(label: JsonValue | undefined, index: number): string {
  const name = label === undefined || label === null ? '' : jsonText(label);
  return name === '' ? `col_${index}` : name;
}

export function columnName(names: readonly string[], index: number): string {
  return names[index] ?? `col_${index}`;
}

/** Adds a column; throws when it exists, so that no data is overwritten silently. */
export function addColumn(row: JsonObject, name: string, value: JsonValue): void {
  if (hasField(row, name)) {
    throw new RecordError('Transform', `two columns of a row are called \`${name}\``, {
      hint: 'give the columns different names at the source',
    });
  }
  setField(row, name, value);
}
