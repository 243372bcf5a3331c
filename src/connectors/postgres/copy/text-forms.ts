import type { CopyField, FieldForm } from '../../../fast/copy-text/copy-text-writer.ts';
import { decoderOf, OID, type BigNumbers, type CopyColumn } from '../../_postgres/decode.ts';
import { fieldText } from '../../_sql/copy-text/text-fields.ts';

/** Other types are written as strings. */
const FORMS: Readonly<Record<number, FieldForm>> = {
  [OID.bool]: 'bool',
  [OID.int2]: 'bare',
  [OID.int4]: 'bare',
  [OID.int8]: 'bare',
  [OID.oid]: 'bare',
  [OID.float4]: 'float',
  [OID.float8]: 'float',
  [OID.timestamp]: 'moment',
  [OID.timestamptz]: 'zoned',
  [OID.jsonb]: 'jsonb',
  [OID.json]: 'json',
  [OID.bytea]: 'decoded',
};

/** The columns in the form that the fast path needs. */
export function fieldsOf(
  columns: readonly CopyColumn[],
  bigNumbers: BigNumbers,
): readonly CopyField[] {
  return columns.map((column) => {
    const decode = decoderOf(column, bigNumbers);
    const { name, oid, array } = column;
    return {
      name,
      form: array === undefined ? (FORMS[oid] ?? 'text') : 'decoded',
      decode: (rows, from, to) => decode(fieldText(rows, from, to)),
    };
  });
}
