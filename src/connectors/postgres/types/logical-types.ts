/** The logical types of result columns, and the names by which a sink creates the same columns. */
import type { FieldDef } from 'pg';
import type { RecordField, RecordSchema, RecordType } from '../../../kit/record-schema.ts';
import type { Connection } from '../read/connection.ts';
import { knownArray, type ArrayType } from '../../_postgres/arrays.ts';
import type { DecodedColumn } from '../../_postgres/decode.ts';

export const SYSTEM = 'postgres';

interface KnownType {
  readonly name: string;
  readonly type: RecordType;
}

const UTF8: RecordType = { kind: 'utf8' };

/** Types of the catalog of every server. Others are asked for by their number. */
const KNOWN: ReadonlyMap<number, KnownType> = new Map<number, KnownType>([
  [16, { name: 'boolean', type: { kind: 'bool' } }],
  [17, { name: 'bytea', type: { kind: 'binary' } }],
  [18, { name: '"char"', type: UTF8 }],
  [19, { name: 'name', type: UTF8 }],
  [20, { name: 'bigint', type: { kind: 'int64' } }],
  [21, { name: 'smallint', type: { kind: 'int16' } }],
  [23, { name: 'integer', type: { kind: 'int32' } }],
  [25, { name: 'text', type: UTF8 }],
  [26, { name: 'oid', type: { kind: 'uint32' } }],
  [114, { name: 'json', type: { kind: 'json' } }],
  [142, { name: 'xml', type: UTF8 }],
  [650, { name: 'cidr', type: UTF8 }],
  [700, { name: 'real', type: { kind: 'float32' } }],
  [701, { name: 'double precision', type: { kind: 'float64' } }],
  [790, { name: 'money', type: UTF8 }],
  [829, { name: 'macaddr', type: UTF8 }],
  [869, { name: 'inet', type: UTF8 }],
  [1042, { name: 'bpchar', type: UTF8 }],
  // The length is a check of its table, and no part of the value.
  [1043, { name: 'character varying', type: UTF8 }],
  [1082, { name: 'date', type: { kind: 'date' } }],
  [1083, { name: 'time without time zone', type: { kind: 'time' } }],
  [1114, { name: 'timestamp without time zone', type: { kind: 'timestamp', unit: 'us' } }],
  [
    1184,
    { name: 'timestamp with time zone', type: { kind: 'timestamp', unit: 'us', zone: 'UTC' } },
  ],
  [1186, { name: 'interval', type: { kind: 'interval' } }],
  [1266, { name: 'time with time zone', type: UTF8 }],
  [1562, { name: 'bit varying', type: UTF8 }],
  [1700, { name: 'numeric', type: { kind: 'decimal' } }],
  [2950, { name: 'uuid', type: { kind: 'uuid' } }],
  [3614, { name: 'tsvector', type: UTF8 }],
  [3802, { name: 'jsonb', type: { kind: 'json' } }],
]);

const BPCHAR = 1042;
const NUMERIC = 1700;
/** What the server adds to a length or precision. */
const HEADER = 4;

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
    ({ dataTypeID: oid }) => !KNOWN.has(oid) && knownArray(oid) === undefined,
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
  const type = known?.type ?? UTF8;
  const native = asked.get(keyOf(field))?.name ?? (known && `${known.name}${array ? '[]' : ''}`);
  return {
    name,
    type: array === undefined ? type : { kind: 'list', item: type },
    nullable: true,
    ...(native === undefined ? {} : { native: { system: SYSTEM, name: native } }),
  };
}

function knownType(oid: number, modifier: number): KnownType | undefined {
  if (oid === BPCHAR && modifier >= HEADER)
    return { name: `character(${modifier - HEADER})`, type: UTF8 };
  if (oid !== NUMERIC || modifier < HEADER) return KNOWN.get(oid);
  const precision = (modifier - HEADER) >> 16;
  // Eleven bits with a sign.
  const scale = (((modifier - HEADER) & 0x7ff) ^ 1024) - 1024;
  return {
    name: `numeric(${precision},${scale})`,
    type: { kind: 'decimal', precision, scale },
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
