/** How the values of the columns of a table are read. */
import type { Client } from 'pg';
import type { RecordField } from '../../../kit/record-schema.ts';
import { knownArray, type ArrayType } from '../../_postgres/arrays.ts';
import { decoderOf, OID, type Decoder } from '../../_postgres/decode.ts';
import { knownType } from '../../_postgres/known-types.ts';
import type { Relation, RelationColumn } from './messages.ts';

/** Types whose text is the value, besides those that `decoderOf` turns into other values. */
const TEXTS = [18, 19, 25, 142, 650, 790, 829, 869, 1042, 1043, 1082, 1083, 1186, 1266, 1562, 2950];
const SCALARS: ReadonlySet<number> = new Set([...Object.values(OID), ...TEXTS]);

interface KnownType {
  readonly oid: number;
  readonly array: ArrayType | undefined;
}

/** Types that the server defines itself are asked for once, by their number. */
export class ColumnTypes {
  readonly #asked = new Map<number, KnownType>();

  /** Numbers that have to be asked for before the values of this table can be read. */
  unknown({ columns }: Relation): number[] {
    return columns.map(({ oid }) => oid).filter((oid) => this.#known(oid) === undefined);
  }

  async ask(client: Client, oids: readonly number[]): Promise<void> {
    const { rows } = await client.query<{
      asked: string;
      oid: string;
      item: string | null;
      delimiter: string;
    }>({ text: BASE_TYPES, values: [oids] });
    for (const { asked, oid, item, delimiter } of rows) {
      const array = item === null ? undefined : { item: Number(item), delimiter };
      this.#asked.set(Number(asked), { oid: Number(oid), array });
    }
    // One that was dropped since keeps the text of its values.
    for (const oid of oids)
      if (!this.#asked.has(oid)) this.#asked.set(oid, { oid, array: undefined });
  }

  decoders({ columns }: Relation): Decoder[] {
    return columns.map((column) => this.#decoder(column));
  }

  /** The columns as fields of the records before and after a change. */
  fields({ columns }: Relation): RecordField[] {
    return columns.map(({ name, oid, modifier }) => {
      const { oid: base, array } = this.#known(oid) ?? { oid, array: undefined };
      // Types that the server defines itself have texts as values.
      const known = knownType(array?.item ?? base, base === oid ? modifier : -1);
      const type = known?.type ?? { kind: 'utf8' };
      const native = known === undefined ? undefined : `${known.name}${array ? '[]' : ''}`;
      return {
        name,
        type: array === undefined ? type : { kind: 'list', item: type },
        nullable: true,
        ...(native === undefined ? {} : { native: { system: 'postgres', name: native } }),
      };
    });
  }

  #decoder({ name, oid }: RelationColumn): Decoder {
    const known = this.#known(oid) ?? { oid, array: undefined };
    // A number that cannot be held exactly would end every run at the same change.
    return decoderOf({ name, ...known }, 'string');
  }

  #known(oid: number): KnownType | undefined {
    if (SCALARS.has(oid)) return { oid, array: undefined };
    const array = knownArray(oid);
    return array === undefined ? this.#asked.get(oid) : { oid, array };
  }
}

/** A domain has the values of the type below it. */
const BASE_TYPES = `
  WITH RECURSIVE base(asked, oid) AS (
    SELECT t.oid, t.oid FROM pg_type AS t WHERE t.oid = ANY ($1::oid[])
    UNION ALL
    SELECT base.asked, t.typbasetype FROM base JOIN pg_type AS t USING (oid) WHERE t.typtype = 'd'
  )
  SELECT base.asked::text AS asked, t.oid::text AS oid, item.oid::text AS item, t.typdelim AS delimiter
  FROM base JOIN pg_type AS t USING (oid) LEFT JOIN pg_type AS item ON item.typarray = t.oid
  WHERE t.typtype <> 'd'`;
