/** What the columns of a result are in records. */
import type { FieldDef } from 'pg';
import type { RecordField, RecordSchema } from '../../../kit/record-schema.ts';
import { knownArray } from '../../_postgres/arrays.ts';
import { decoderOf, OID, type CopyColumn, type Decoder } from '../../_postgres/decode.ts';
import { knownType, type KnownType } from '../../_postgres/known-types.ts';
import { hasOuterZeros, jsonDecoder } from '../../_sql/value-decoders.ts';

/** Types that PostgreSQL does not have, by the numbers that they have in the protocol. */
const SUPER = 4000;
const VARBYTE = 6551;

const OWN_TYPES: ReadonlyMap<number, KnownType> = new Map<number, KnownType>([
  [SUPER, { name: 'super', type: { kind: 'json' } }],
  [VARBYTE, { name: 'varbyte', type: { kind: 'binary' } }],
]);

type Field = Pick<FieldDef, 'name' | 'dataTypeID' | 'dataTypeModifier'>;

export interface ResultTypes {
  readonly schema: RecordSchema;
  readonly columns: readonly CopyColumn[];
}

export function typesOf(fields: readonly Field[]): ResultTypes {
  return {
    schema: { fields: fields.map(fieldOf) },
    columns: fields.map(({ name, dataTypeID: oid }) => ({ name, oid, array: knownArray(oid) })),
  };
}

/** What the database calls the type of a column. */
export function typeName(field: Field): string {
  return typeOf(field)?.name ?? `type ${field.dataTypeID}`;
}

function typeOf({ dataTypeID: oid, dataTypeModifier: modifier }: Field): KnownType | undefined {
  return OWN_TYPES.get(oid) ?? knownType(knownArray(oid)?.item ?? oid, modifier);
}

function fieldOf(field: Field): RecordField {
  const type = typeOf(field)?.type ?? { kind: 'utf8' };
  const isArray = knownArray(field.dataTypeID) !== undefined;
  return { name: field.name, type: isArray ? { kind: 'list', item: type } : type, nullable: true };
}

/** Numbers in documents that no double holds are texts. */
export function decoderFor(column: CopyColumn): Decoder {
  switch (column.oid) {
    case SUPER:
      return jsonDecoder({
        column: column.name,
        bigNumbers: 'string',
        isRespelled: hasOuterZeros,
      });
    case VARBYTE:
      return (text) => Buffer.from(text, 'hex').toString('base64');
    case OID.float4:
      return shortFloat;
    default:
      return decoderOf(column, 'string');
  }
}

/** Digits that tell any two numbers of 32 bits apart. */
const FLOAT_DIGITS = 9;

/** The shortest number that is the same one of 32 bits: this server may write more digits. */
function shortFloat(text: string): number | string {
  const value = Number(text);
  if (!Number.isFinite(value)) return text;
  const stored = Math.fround(value);
  for (let digits = 6; digits < FLOAT_DIGITS; digits += 1) {
    const shorter = Number(stored.toPrecision(digits));
    if (Math.fround(shorter) === stored) return shorter;
  }
  return Number(stored.toPrecision(FLOAT_DIGITS));
}
