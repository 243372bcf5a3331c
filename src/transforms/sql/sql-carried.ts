/**
 * Values that a query only hands on, and that would not come out of the engine as they are: a number
 * goes in their place.
 */
import type { RecordField } from '../../kit/record-schema.ts';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export class CarriedValues {
  readonly #names: ReadonlySet<string>;
  /** Of one page. */
  readonly #values: JsonValue[] = [];

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  /** The records with numbers in the place of the values. */
  take(records: readonly JsonObject[]): readonly JsonObject[] {
    if (this.#names.size === 0) return records;
    return records.map((record) => {
      const numbered = { ...record };
      for (const name of this.#names)
        if ((record[name] ?? null) !== null && Object.hasOwn(record, name))
          setField(numbered, name, this.#values.push(record[name] as JsonValue) - 1);
      return numbered;
    });
  }

  /** The values again, in the columns that are these fields. */
  giveBack(
    records: readonly JsonObject[],
    handedOn: ReadonlyMap<string, RecordField>,
  ): readonly JsonObject[] {
    if (this.#names.size === 0) return records;
    const columns = [...handedOn].filter(([, { name }]) => this.#names.has(name));
    for (const record of records)
      for (const [column] of columns) {
        const index = record[column];
        if (typeof index === 'number') setField(record, column, this.#values[index] ?? null);
      }
    return records;
  }
}
