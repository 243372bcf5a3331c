/**
 * What is known of the columns of a query. Columns of SQLite hold any value whatever their declared
 * type: that counts as long as every value so far is of it.
 */
import {
  knownSchema,
  mapFields,
  orderOf,
  type RecordField,
  type RecordSchema,
  type SimpleTypeName,
} from '../../kit/record-schema.ts';
import { storedRowOf } from '../../lib/sql/sqlite-values.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { isReal } from './column-types.ts';

/** As `native` types name it. */
export const SYSTEM = 'sqlite';

interface Declared {
  readonly name: string;
  /** Null for an expression. */
  readonly type: string | null;
}

interface TypedColumn {
  readonly place: number;
  readonly field: RecordField;
  readonly kind: Kind;
}

export class StoredTypes {
  readonly #names: readonly string[];
  #columns: readonly TypedColumn[];
  #schema: RecordSchema | undefined;

  constructor(columns: readonly Declared[]) {
    this.#names = columns.map(({ name }) => name);
    this.#columns = columns.flatMap(({ name, type }, place) => {
      const kind = type === null ? undefined : kindOf(type);
      if (type === null || kind === undefined) return [];
      const native = { system: SYSTEM, name: type };
      const field = { name, type: { kind }, nullable: true, native };
      return [{ place, field, kind }];
    });
    this.#schema = this.#told();
  }

  see(row: readonly unknown[]): void {
    const columns = this.#columns;
    // For each row that is read: the fastest walk over an array.
    for (let index = 0; index < columns.length; index += 1) {
      const { place, kind } = columns[index] as TypedColumn;
      const stored = row[place];
      if (stored !== null && !fits(stored, kind)) return this.#without(row);
    }
  }

  /** Of all rows that were seen; another object only when less is known than before. */
  get schema(): RecordSchema | undefined {
    return this.#schema;
  }

  #without(row: readonly unknown[]): void {
    this.#columns = this.#columns.filter(
      ({ place, kind }) => row[place] === null || fits(row[place], kind),
    );
    this.#schema = this.#told();
  }

  #told(): RecordSchema | undefined {
    return orderOf(
      this.#names,
      this.#columns.map(({ field }) => field),
    );
  }
}

type Kind = Extract<SimpleTypeName, 'bool' | 'int64' | 'float64' | 'binary'>;

/** Texts, and numbers of any kind, have no type: a record has the JSON that a text spells. */
function kindOf(declared: string): Kind | undefined {
  if (/^bool/i.test(declared)) return 'bool';
  if (/int/i.test(declared)) return 'int64';
  if (isReal(declared)) return 'float64';
  return /blob/i.test(declared) && !/char|clob|text/i.test(declared) ? 'binary' : undefined;
}

function fits(stored: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'int64':
      return typeof stored === 'bigint';
    case 'float64':
      // A record has null in the place of the infinities.
      return typeof stored === 'number' && Number.isFinite(stored);
    case 'binary':
      return stored instanceof Uint8Array;
    case 'bool':
      // Others would be lost: a record has only true and false.
      return stored === 0n || stored === 1n;
    default:
      return kind satisfies never;
  }
}

type SchemaFor = (
  schema: RecordSchema | undefined,
  records: readonly JsonValue[],
) => RecordSchema | undefined;

/** Without the types of fields that a record stores as they were read: it says more than its type. */
export function withoutStored(): SchemaFor {
  let last:
    | {
        readonly schema: RecordSchema;
        readonly places: object;
        readonly rest: RecordSchema | undefined;
      }
    | undefined;
  return (schema, [first = null]) => {
    const places = isObject(first) ? storedRowOf(first)?.columns.places : undefined;
    if (schema === undefined || places === undefined) return schema;
    if (last?.schema !== schema || last.places !== places) {
      const rest = mapFields(schema, (field) => (isStored(field, places) ? undefined : field));
      const isSame = rest.fields.length === schema.fields.length;
      last = { schema, places, rest: isSame ? schema : knownSchema({ ...rest, others: true }) };
    }
    return last.rest;
  };
}

function isStored({ name, native }: RecordField, places: ReadonlyMap<string, number>): boolean {
  return native?.system === SYSTEM && places.has(name);
}
