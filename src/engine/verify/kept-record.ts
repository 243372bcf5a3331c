/**
 * Records in the private database of a comparison. A repair writes them again, so it must not lose
 * what JSON does not tell: the row of a SQLite file, or the text of a document.
 */
import { sourceText, withSpelling } from '../../lib/text/json-literal.ts';
import {
  parseData,
  setField,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import {
  fromStoredLiteral,
  keepStoredRow,
  storedLiteral,
  storedRowOf,
  type StoredColumns,
} from '../../lib/sql/sqlite-values.ts';

export class RecordKeeper {
  /** Those of the last record: a side asks one query, or several with the same columns. */
  #columns: StoredColumns | undefined;

  textOf(record: JsonObject): string {
    const row = storedRowOf(record);
    if (row !== undefined) this.#columns = row.columns;
    const spelled = Object.entries(record).flatMap(([name, value]): JsonValue[] => {
      const text = Object.is(value, -0) ? '-0' : sourceText(value);
      return text === undefined ? [] : [[name, text]];
    });
    return stringifyJson([record, spelled, row?.values.map(storedLiteral) ?? null]);
  }

  recordOf(text: string): JsonObject {
    const [record, spelled, stored] = parseData(text) as [
      JsonObject,
      [string, string][],
      string[] | null,
    ];
    for (const [name, spelling] of spelled)
      setField(record, name, withSpelling(parseData(spelling), spelling));
    if (stored !== null && this.#columns !== undefined)
      keepStoredRow(record, { columns: this.#columns, values: stored.map(fromStoredLiteral) });
    return record;
  }
}
