/** The logical types of result columns, and the names by which a sink creates the same columns. */
import type { FieldDef } from 'pg';
import type { RecordField, RecordSchema } from '../../../kit/record-schema.ts';
import type { Connection } from '../../_postgres/connection.ts';
import { knownArray, type ArrayType } from '../../_postgres/arrays.ts';
import type { DecodedColumn } from '../../_postgres/decode.ts';
import { isKnownType, knownType } from '../../_postgres/known-types.ts';

export const SYSTEM = 'postgres';

export type ResultField = Pick<FieldDef, 'name' | 'dataTypeID' | 'dataTypeModifier'>;

/** What is known of the columns of a result. */
export interface ResultTypes {
  readonly schema: RecordSchema;
  /** In the order of the result. */
  readonly columns: readonly DecodedColumn[];
}

/** Asks the server only for types that it may have defined itself. */
export async function typesOf(
  connection: Connection,
  fields: readonly ResultField[],
): Promise<ResultTypes> {
  const unknown = fields.filter(
    ({ dataTypeID: oid }) => !isKnownType(oid) && knownArray(oid) === undefined,
  );
  const asked =
    unknown.length === 0 ? NO_TYPES : await connection.ask(() => askedTypes(connection, unknown));
  const columns = fields.map((field) => {
    const { name, dataTypeID: oid } = field;
    return { name, oid, array: knownArray(oid) ?? asked.get(keyOf(field))?.array };
  });
  return {
    schema: { fields: fields.map((field, index) => fieldOf(field, columns[index]?.array, asked)) },
    columns,
  };
}

interface AskedType {
  /** `undefined` for a type that no column of a table can have. */
  readonly name: string | undefined;
  readonly array: ArrayType | undefined;
}

type AskedTypes = ReadonlyMap<string, AskedType>;
const NO_TYPES: AskedTypes = new Map();

function fieldOf(field: ResultField, array: ArrayType | undefined, asked: AskedTypes): RecordField {
  const { name, dataTypeID: oid, dataTypeModifier: modifier } = field;
  // The modifier of an array is that of its items.
  const known = knownType(array?.item ?? oid, modifier);
  const type = known?.type ?? { kind: 'utf8' };
  const native = asked.get(keyOf(field))?.name ?? (known && `${known.name}${array ? '[]' : ''}`);
  return {
    name,
    type: array === undefined ? type : { kind: 'list', item: type },
    nullable: true,
    ...(native === undefined ? {} : { native: { system: SYSTEM, name: native } }),
  };
}

function keyOf({ dataTypeID, dataTypeModifier }: ResultField): string {
  return `${dataTypeID} ${dataTypeModifier}`;
}

async function askedTypes(
  { client }: Connection,
  fields: readonly ResultField[],
): Promise<AskedTypes> {
  const { rows } = await client.query<{
    key: string;
    name: string | null;
    item: string | null;
    delimiter: string;
  }>({
    text: `SELECT t.oid || ' ' || modifier AS key, CASE WHEN t.typtype <> 'p' THEN format_type(t.oid, modifier) END AS name,
             item.oid::text AS item, t.typdelim AS delimiter
           FROM unnest($1::oid[], $2::int4[]) AS asked(oid, modifier) JOIN pg_type AS t USING (oid)
           LEFT JOIN pg_type AS item ON item.typarray = t.oid`,
    values: [
      fields.map(({ dataTypeID }) => dataTypeID),
      fields.map(({ dataTypeModifier }) => dataTypeModifier),
    ],
  });
  return new Map(
    rows.map(({ key, name, item, delimiter }) => [
      key,
      {
        name: name ?? undefined,
        array: item === null ? undefined : { item: Number(item), delimiter },
      },
    ]),
  );
}
