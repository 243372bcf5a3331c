/** Columns of tables, as the information schema describes them. */
import { columnTypeFor } from '../../../kit/typed-values.ts';
import type { RecordType } from '../../../kit/record-schema.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import { CODES } from '../api.ts';
import { recordTypeOf } from './fields.ts';

export interface SpannerColumn extends LiveColumn {
  /** The type, or that of the items. */
  readonly base: string;
  readonly isList: boolean;
  /** Letters or bytes; absent without a limit. */
  readonly length?: number;
  /** The expression of its default. */
  readonly byDefault?: string | undefined;
}

/** The columns of the shared sink are those that this one gave it. */
export function ownColumn(column: LiveColumn): SpannerColumn {
  return column as SpannerColumn;
}

export interface DescribedColumn {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly byDefault?: string | undefined;
  readonly isGenerated: boolean;
}

const WRITTEN = /^(?:(ARRAY)<)?([^<>()]+)(?:\((\d+|MAX)\))?/i;

export function columnOf({
  name,
  type,
  nullable,
  byDefault,
  isGenerated,
}: DescribedColumn): SpannerColumn {
  const [, list, base = '', length = 'MAX'] = WRITTEN.exec(type) ?? [];
  const isList = list !== undefined;
  const known = typeOf(base, isList);
  return {
    name,
    types: [known.kind === 'decimal' ? 'number' : columnTypeFor(known)],
    nullable,
    hasDefault: byDefault !== undefined,
    sqlType: isList ? 'ARRAY' : base,
    limits: type,
    settable: !isGenerated,
    base: base.toUpperCase(),
    isList,
    byDefault,
    ...(length.toUpperCase() === 'MAX' ? {} : { length: Number(length) }),
  };
}

/** Types of programs (`PROTO`, `ENUM`) go by names of their own, and are written as texts. */
export function typeOf(base: string, isList: boolean): RecordType {
  const code = CODES[base.toUpperCase() as keyof typeof CODES] as number | undefined;
  const item = recordTypeOf({ code: code ?? 0 });
  return isList ? { kind: 'list', item } : item;
}
