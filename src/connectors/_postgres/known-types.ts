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

/** What the server adds to a length or precision. */
const HEADER = 4;

export function isKnownType(oid: number): boolean {
  return KNOWN.has(oid);
}

/** `modifier` is that of the column, or of the items of an array. */
export function knownType(oid: number, modifier: number): KnownType | undefined {
  const known = KNOWN.get(oid);
  const limited = modifier < 0 ? undefined : LIMITED[oid]?.(modifier);
  if (known === undefined || limited === undefined) return known;
  return typeof limited === 'string' ? { ...known, name: limited } : limited;
}

/** Types of which a column holds fewer values than the type, as the server writes them. */
const LIMITED: Readonly<Record<number, (modifier: number) => string | KnownType | undefined>> = {
  1042: (modifier) => `character(${modifier - HEADER})`,
  1043: (modifier) => `character varying(${modifier - HEADER})`,
  1083: (modifier) => `time(${modifier}) without time zone`,
  1114: (modifier) => `timestamp(${modifier}) without time zone`,
  1184: (modifier) => `timestamp(${modifier}) with time zone`,
  1186: intervalName,
  1266: (modifier) => `time(${modifier}) with time zone`,
  1562: (modifier) => `bit varying(${modifier})`,
  1700: numericType,
};

function numericType(modifier: number): KnownType {
  const precision = (modifier - HEADER) >> 16;
  // Eleven bits with a sign.
  const scale = (((modifier - HEADER) & 0x7ff) ^ 1024) - 1024;
  return {
    name: `numeric(${precision},${scale})`,
    type: { kind: 'decimal', precision, scale },
  };
}

/** One bit for each unit. */
const INTERVAL_FIELDS: Readonly<Record<number, string>> = {
  0x0004: ' year',
  0x0002: ' month',
  0x0008: ' day',
  0x0400: ' hour',
  0x0800: ' minute',
  0x1000: ' second',
  0x0006: ' year to month',
  0x0408: ' day to hour',
  0x0c08: ' day to minute',
  0x1c08: ' day to second',
  0x0c00: ' hour to minute',
  0x1c00: ' hour to second',
  0x1800: ' minute to second',
  0x7fff: '',
};
const ANY_PRECISION = 0xffff;

function intervalName(modifier: number): string | undefined {
  const fields = INTERVAL_FIELDS[modifier >> 16];
  const precision = modifier & ANY_PRECISION;
  if (fields === undefined) return undefined;
  return `interval${fields}${precision === ANY_PRECISION ? '' : `(${precision})`}`;
}
