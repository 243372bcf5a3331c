/** The columns of a table as fields of the rows before and after a change. */
import type { RecordField, RecordType } from '../../../kit/record-schema.ts';
import { typeText } from '../../../kit/type-text.ts';
import type { Charsets } from '../values/charsets.ts';
import type { ColumnHint } from './column-hints.ts';
import { TYPE, type LogColumn } from './table-map.ts';

/** What the server says of the table now counts where the log, which may be older, agrees. */
export function columnField(
  column: LogColumn,
  hint: ColumnHint | undefined,
  charsets: Charsets,
): RecordField {
  const type = typeOf(column, hint, charsets);
  if (hint !== undefined && typeText(hint.field.type) === typeText(type))
    return { ...hint.field, nullable: true };
  return { name: column.name, type, nullable: true };
}

const BITS: Readonly<Record<number, 8 | 16 | 32 | 64>> = {
  [TYPE.tiny]: 8,
  [TYPE.short]: 16,
  [TYPE.int24]: 32,
  [TYPE.long]: 32,
  [TYPE.longlong]: 64,
};

function typeOf(column: LogColumn, hint: ColumnHint | undefined, charsets: Charsets): RecordType {
  const { type, meta, isUnsigned } = column;
  const bits = BITS[type];
  if (type === TYPE.tiny && hint?.isTruth === true) return { kind: 'bool' };
  if (bits !== undefined) return { kind: `${isUnsigned ? 'u' : ''}int${bits}` as 'int8' };
  switch (type) {
    case TYPE.float:
      return { kind: 'float32' };
    case TYPE.double:
      return { kind: 'float64' };
    case TYPE.decimal:
      return { kind: 'decimal', precision: meta & 0xff, scale: meta >> 8 };
    case TYPE.year:
      return { kind: 'int16' };
    case TYPE.bit:
      return { kind: (meta >> 8) * 8 + (meta & 0xff) === 1 ? 'bool' : 'uint64' };
    case TYPE.date:
    case TYPE.newDate:
      return { kind: 'date' };
    case TYPE.time2:
      return { kind: 'time' };
    case TYPE.datetime2:
    case TYPE.timestamp2:
      return { kind: 'timestamp', unit: 'us', zone: 'UTC' };
    case TYPE.json:
      return { kind: 'json' };
    case TYPE.geometry:
    case TYPE.vector:
      return { kind: 'binary' };
    case TYPE.enum:
    case TYPE.set:
      return { kind: 'utf8' };
    default:
      return longType(column, hint, charsets);
  }
}

function longType(
  { type, collation }: LogColumn,
  hint: ColumnHint | undefined,
  charsets: Charsets,
): RecordType {
  const isText = collation !== undefined && charsets.readerOf(collation) !== undefined;
  if (isText) return { kind: hint?.isJson === true ? 'json' : 'utf8' };
  if (type !== TYPE.string || hint?.extended === undefined) return { kind: 'binary' };
  if (hint.extended === 'uuid') return { kind: 'uuid' };
  return { kind: /^inet\d$/.test(hint.extended) ? 'utf8' : 'binary' };
}
