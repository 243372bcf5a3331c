/** The types of the catalog of every server, as types of fields. */
import type { RecordType } from '../../kit/record-schema.ts';

export interface KnownType {
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

export function isKnownType(oid: number): boolean {
  return KNOWN.has(oid);
}

/** `modifier` is that of the column, or of the items of an array. */
export function knownType(oid: number, modifier: number): KnownType | undefined {
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
