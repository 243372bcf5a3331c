/** Asks the engine which columns a query gives, with columns of given types and no record. */
import { duckdbField } from '../../kit/duckdb-types.ts';
import {
  fieldOf,
  orderOf,
  UNKNOWN_SCHEMA,
  type RecordField,
  type RecordSchema,
} from '../../kit/record-schema.ts';
import { messageOf } from '../../lib/errors.ts';
import { prepareDuckdb, type DuckDBConnection } from '../../lib/sql/duckdb.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { BATCH } from './sql-config.ts';
import type { Shape } from './sql-shapes.ts';

/** What a field of which nothing is known may turn out to be. */
const CANDIDATES = ['BIGINT', 'DOUBLE', 'VARCHAR', 'BOOLEAN', 'JSON'] as const;
/** Stands for all fields that the query does not name. */
const OTHER_FIELDS = 'svc_other_fields';
const MOST_NAMES = 500;
/** Of fields that are looked at one by one. */
const MOST_HANDED_ON = 200;
const MISSING_COLUMN = [
  /Referenced column "(.+?)" not found in FROM clause/,
  /does not have a column named "(.+?)"/,
  /Column "(.+?)" in (?:EXCLUDE|REPLACE|RENAME) list not found/,
  /Column "(.+?)" does not exist on left side of join/,
  /Column "(.+?)" referenced that exists in the SELECT clause - but/,
  // `place.city` of a column that is not there is taken for a column of a table.
  /Referenced table "(.+?)" not found/,
];

/** How the fields of records become columns. */
export interface Layout {
  /** The fields whose type is known; types of others are learned from their values. */
  readonly typed: ReadonlyMap<string, Shape>;
  /** The columns that exist before a record was seen, in their order. */
  readonly start: ReadonlyMap<string, Shape>;
  /** Fields that have a type, which the query does not accept: they are texts to it. */
  readonly asTexts: readonly string[];
  /** Fields whose values do not go through the engine. */
  readonly carried: ReadonlySet<string>;
}

export interface QueryToDescribe {
  readonly query: string;
  /** Fields that the query only hands on. Other JSON documents are structures to it. */
  readonly handedOn: (name: string) => boolean;
  readonly paths: readonly (readonly string[])[];
  /** Whether it compares whole records. */
  readonly compares: boolean;
}

export interface DescriptionOptions {
  readonly input: RecordSchema;
  readonly layout: Layout;
}

export interface ResultColumns {
  readonly schema: RecordSchema;
  /** Those that are fields of the input as they came, with those. */
  readonly handedOn: ReadonlyMap<string, RecordField>;
}

export class QueryDescription {
  readonly #connection: DuckDBConnection;
  readonly #query: QueryToDescribe;
  readonly #input: RecordSchema;
  /** The columns of `batch`, each with its type where that is known. */
  readonly #columns: Map<string, string | undefined>;

  constructor(
    connection: DuckDBConnection,
    query: QueryToDescribe,
    { input, layout }: DescriptionOptions,
  ) {
    this.#connection = connection;
    this.#query = query;
    this.#input = input;
    const names = new Set([...(input.order ?? []), ...input.fields.map(({ name }) => name)]);
    const named = [...names].map((name) => {
      const shape = layout.typed.get(name);
      return [name, shape?.is === 'typed' ? shape.sqlType : undefined] as const;
    });
    this.#columns = new Map(named);
  }

  /**
   * Nothing is said of columns whose type depends on fields of unknown type. `undefined` when the
   * query cannot be read with these types.
   */
  async columns(): Promise<ResultColumns | undefined> {
    const results = await this.#results();
    const [first, ...others] = results;
    if (first === undefined) return undefined;
    const isGuess = others.length === 0 && this.#hasUnknown;
    const handedOn = await this.#handedOn();
    const known = first.flatMap((field): RecordField[] => {
      if (field.name === OTHER_FIELDS) return [];
      const own = handedOn.get(field.name);
      if (own !== undefined) return [{ ...own, name: field.name, nullable: true }];
      const isSame = (one: readonly RecordField[]): boolean =>
        fieldOf({ fields: one }, field.name)?.native?.name === field.native?.name;
      return !isGuess && others.every(isSame) ? [field] : [];
    });
    if (known.length === first.length) return { schema: { fields: known }, handedOn };
    const names = first.map(({ name }) => name).filter((name) => name !== OTHER_FIELDS);
    return { schema: orderOf(names, known) ?? UNKNOWN_SCHEMA, handedOn };
  }

  get #hasUnknown(): boolean {
    return [...this.#columns.values()].includes(undefined);
  }

  /** The columns of the result, for each type that the unknown fields may have. */
  async #results(): Promise<RecordField[][]> {
    const results: RecordField[][] = [];
    for (const candidate of CANDIDATES) {
      const fields = await this.#bind(candidate);
      if (fields !== undefined) results.push(fields);
      if (!this.#hasUnknown) break;
    }
    return results;
  }

  /** Fields that the query names and nobody knows are added to the columns. */
  async #bind(candidate: string): Promise<RecordField[] | undefined> {
    for (let left = MOST_NAMES; left > 0; left -= 1) {
      try {
        return await this.#fieldsWith(candidate);
      } catch (error) {
        const missing = missingColumn(messageOf(error));
        if (this.#input.others !== true || missing === undefined || this.#columns.has(missing))
          return undefined;
        this.#columns.set(missing, undefined);
      }
    }
    return undefined;
  }

  /** A structure where the query names fields inside of the column. */
  #unknownType(column: string, candidate: string): string {
    const inside = this.#query.paths.flatMap((path) => {
      const at = path.slice(0, 2).findIndex((part) => isSameName(part, column));
      return at === -1 || at === path.length - 1 ? [] : [path.slice(at + 1)];
    });
    return structureOf(inside, candidate);
  }

  /**
   * The columns of the result that are fields of the input as they came, with all that is known of
   * those: a column that gets a type of its own, and comes out with it.
   */
  async #handedOn(): Promise<Map<string, RecordField>> {
    const fields = this.#input.fields;
    const marks = new Map(
      fields.map(({ name }, index) => [name, `STRUCT(${quoteName(`svc_${index}`)} BIGINT)`]),
    );
    const found = new Map<string, RecordField>();
    const look = async (marked: readonly RecordField[]): Promise<boolean> => {
      const own = new Map(marked.map(({ name }) => [name, marks.get(name) ?? '']));
      const result = await this.#fieldsWith('VARCHAR', own).catch(() => undefined);
      for (const { name, native } of result ?? []) {
        const origin = marked.find((field) => marks.get(field.name) === native?.name);
        if (origin !== undefined) found.set(name, origin);
      }
      return result !== undefined;
    };
    if (fields.length > 0 && !(await look(fields)))
      for (const field of fields.slice(0, MOST_HANDED_ON)) await look([field]);
    return found;
  }

  async #fieldsWith(candidate: string, own?: ReadonlyMap<string, string>): Promise<RecordField[]> {
    const columns = [...this.#columns].map(
      ([name, sqlType]) =>
        `CAST(NULL AS ${own?.get(name) ?? sqlType ?? this.#unknownType(name, candidate)}) AS ${quoteName(name)}`,
    );
    if (this.#input.others === true || columns.length === 0)
      columns.push(`CAST(NULL AS ${candidate}) AS ${OTHER_FIELDS}`);
    await this.#connection.run(
      `CREATE OR REPLACE TEMP VIEW ${BATCH} AS SELECT ${columns.join(', ')} WHERE false`,
    );
    const statement = await prepareDuckdb(this.#connection, this.#query.query);
    return Array.from({ length: statement.columnCount }, (_, index) =>
      duckdbField(statement.columnName(index), statement.columnType(index)),
    );
  }
}

function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** `leaf`, or the structure in which every path leads to a `leaf`. */
function structureOf(paths: readonly (readonly string[])[], leaf: string): string {
  const names = [...new Set(paths.flatMap(([name]) => name?.toLowerCase() ?? []))];
  if (names.length === 0) return leaf;
  const fields = names.map((name) => {
    const below = paths.filter((path) => path[0]?.toLowerCase() === name);
    const inside = below.map((path) => path.slice(1)).filter((path) => path.length > 0);
    return `${quoteName(name)} ${structureOf(inside, leaf)}`;
  });
  return `STRUCT(${fields.join(', ')})`;
}

function missingColumn(message: string): string | undefined {
  for (const pattern of MISSING_COLUMN) {
    const [, name] = pattern.exec(message) ?? [];
    if (name !== undefined) return name;
  }
  return undefined;
}
