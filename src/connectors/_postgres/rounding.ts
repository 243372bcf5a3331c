/** Values that the server would round on their way into a column. */
import type { JsonValue } from '../../lib/text/json.ts';
import type { RecordType } from '../../kit/record-schema.ts';

/** The column, and the type of its values where it is known. */
interface Target {
  readonly sqlType: string;
  readonly baseType?: string | undefined;
  readonly type?: RecordType | undefined;
}

export interface Rounding {
  /** The size of the shortest text of such a value: `07:08:09.1234567`, `9007199254740993`. */
  readonly least: number;
  /** Whether only whole numbers are meant. */
  readonly whole: boolean;
  isRounded(value: JsonValue): boolean;
  readonly why: string;
  readonly hint: string;
}

const TIMES = /^time(?:stamp)? with(?:out)? time zone$/;
const TOO_FINE = /\.\d{6}\d*[1-9]/;

const FINE_TIME: Rounding = {
  least: 16,
  whole: false,
  isRounded: (value) => typeof value === 'string' && TOO_FINE.test(value),
  why: ': it holds microseconds',
  hint: 'write the field into a text column, or cut it to six digits before',
};
const FINE_TIMESTAMP: Rounding = { ...FINE_TIME, least: 27 };

const FLOATS: Readonly<Record<string, Rounding>> = {
  'double precision': largeInteger(16, Number),
  real: largeInteger(8, Math.fround),
};

/** Fractions are rounded by every float; a whole number that is another one is a changed value. */
function largeInteger(least: number, near: (value: number) => number): Rounding {
  return {
    least,
    whole: true,
    isRounded: (value) =>
      typeof value === 'bigint'
        ? BigInt(near(Number(value))) !== value
        : Number.isSafeInteger(value) && near(value as number) !== value,
    why: '',
    hint: 'give the column the type numeric, or write the field as text',
  };
}

/** What the server would round in this column; `undefined` where it rounds nothing. */
export function roundingOf({ sqlType, baseType, type }: Target): Rounding | undefined {
  const plain = baseType ?? sqlType;
  if (TIMES.test(plain)) {
    if (type?.kind === 'timestamp' && type.unit !== 'ns') return undefined;
    return plain.startsWith('timestamp') ? FINE_TIMESTAMP : FINE_TIME;
  }
  const isExact = type?.kind !== 'float32' && type?.kind !== 'float64' && type?.kind !== 'utf8';
  return isExact ? FLOATS[plain] : undefined;
}
