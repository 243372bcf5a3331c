/** Payloads, such as reports, that keep cells and the names of their columns apart. */
import { messageOf, RecordError } from '../lib/errors.ts';
import { hasField, jsonText, setField, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { declaredColumns } from '../kit/declared-columns.ts';
import type { RecordSchema } from '../kit/record-schema.ts';
import { recordTyper } from '../kit/typed-pages.ts';
import { keepForm } from '../lib/value-form.ts';
import { itemReader, valueAt, type ItemPlace } from './reshape/item-path.ts';

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

/** The types of columns whose names and values are all in the data. */
export function columnTypes() {
  return declaredColumns().meta({
    description:
      'Types of columns, by name. Texts and other values are converted, also in records that pass unchanged, and one that does not fit fails the run; sinks create columns of these types. Other columns stay as they are.',
  });
}

/** Gives a record the types that it is said to have. */
export function columnTyper(
  types: RecordSchema | undefined,
): ((record: JsonValue) => JsonValue) | undefined {
  if (types === undefined) return undefined;
  const typed = recordTyper(types, { name: 'the result', fromText: true });
  return (record) => {
    try {
      return typed(record);
    } catch (error) {
      throw new RecordError('Transform', messageOf(error), {
        hint: 'declare the column as `utf8` and convert it with a `cast` transform that may fail, or correct the data',
        cause: error,
      });
    }
  };
}

/** Adds the value of a cell with all that is remembered of it; null for a place that is not there. */
export function addCell(row: JsonObject, name: string, cell: ItemPlace | undefined): void {
  addColumn(row, name, cell === undefined ? null : valueAt(cell));
  if (cell !== undefined) keepForm(cell.holder, cell.key, row, name);
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
