/**
 * Values that a query only hands on, and that would not come out of the engine as they are: a number
 * goes in their place.
 */
import type { RecordField } from '../../kit/record-schema.ts';
import { sourceText } from '../../lib/text/json-literal.ts';
import { holdsSpelling, hasSpellings, spellingOf } from '../../lib/text/number-spelling.ts';
import { isObject, setField, type JsonObject } from '../../lib/text/json.ts';
import { storedRowOf } from '../../lib/sql/sqlite-values.ts';
import { keepForm } from '../../lib/value-form.ts';
import type { Shape } from './sql-shapes.ts';

export class CarriedValues {
  readonly #names: ReadonlySet<string>;
  /** The records of one page, as they came. */
  #records: readonly JsonObject[] = [];

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  /** The records with their own numbers in the place of the values. */
  take(records: readonly JsonObject[]): readonly JsonObject[] {
    if (this.#names.size === 0) return records;
    this.#records = records;
    return records.map((record, index) => {
      const numbered = { ...record };
      for (const name of this.#names)
        if (Object.hasOwn(record, name)) setField(numbered, name, index);
      return numbered;
    });
  }

  /** The values again, in the columns that are these fields. */
  giveBack(
    records: readonly JsonObject[],
    handedOn: ReadonlyMap<string, Pick<RecordField, 'name'>>,
  ): readonly JsonObject[] {
    if (this.#names.size === 0) return records;
    const columns = [...handedOn].filter(([, { name }]) => this.#names.has(name));
    for (const record of records)
      for (const [column, { name }] of columns) {
        const index = record[column];
        const origin = typeof index === 'number' ? this.#records[index] : undefined;
        if (origin === undefined) continue;
        setField(record, column, origin[name] ?? null);
        keepForm(origin, name, record, column);
      }
    return records;
  }
}

/**
 * Fields of no known type of which a record remembers more than the value: how a number was written,
 * or what a SQLite file holds. `isHandedOn` says which fields a query only hands on.
 */
export function rememberedFields(
  records: readonly JsonObject[],
  isHandedOn: (name: string) => boolean,
): ReadonlySet<string> {
  const found = new Set<string>();
  for (const record of records) {
    const stored = storedRowOf(record)?.columns.places;
    const isSpelled = hasSpellings(record);
    for (const [name, value] of Object.entries(record)) {
      if (found.has(name) || !isHandedOn(name)) continue;
      const isRemembered =
        stored?.has(name) === true ||
        (isSpelled && spellingOf(record, name) !== undefined) ||
        (typeof value === 'object' && (holdsSpelling(value) || sourceText(value) !== undefined));
      if (isRemembered) found.add(name);
    }
  }
  return found;
}

/**
 * The same for fields of no known type that are carried in one page: the type of a column of the
 * result tells which of them it is.
 */
export class NumberedFields {
  readonly #names: readonly string[];
  readonly #values: CarriedValues;

  constructor(names: ReadonlySet<string>) {
    this.#names = [...names];
    this.#values = new CarriedValues(names);
  }

  get shapes(): [string, Shape][] {
    return this.#names.map((name, index) => [name, { is: 'numbered', mark: MARK + index }]);
  }

  take(records: readonly JsonObject[]): readonly JsonObject[] {
    return this.#values.take(records);
  }

  /** Of each column of the result the name that the only field of its structure has. */
  giveBack(
    records: readonly JsonObject[],
    columns: ReadonlyMap<string, string>,
  ): readonly JsonObject[] {
    if (this.#names.length === 0) return records;
    const found = [...columns].flatMap(([column, mark]) => {
      const name = mark.startsWith(MARK) ? this.#names[Number(mark.slice(MARK.length))] : undefined;
      return name === undefined ? [] : [[column, { name }] as const];
    });
    for (const record of records)
      for (const [column] of found) {
        const held = record[column];
        if (isObject(held)) setField(record, column, Object.values(held)[0] ?? null);
      }
    return this.#values.giveBack(records, new Map(found));
  }
}

const MARK = 'svc_record_';
