import type { DetectorName } from '../../blocks/masking/schema.ts';
import type { DecimalType, RecordType } from '../../kit/record-schema.ts';

/**
 * Each says whether a whole text is of one kind. What is cheap to ask comes first: nearly every
 * text is of no kind.
 */
export const DETECT: Readonly<Record<DetectorName, (text: string) => boolean>> = {
  email: (text) => text.includes('@') && EMAIL.test(text),
  credit_card: (text) => text.length >= 13 && CARD.test(text) && hasLuhnSum(text),
  ssn: (text) => text.length === 11 && SSN.test(text),
  phone: (text) => text.length >= 10 && PHONE.test(text) && hasPhoneDigits(text),
  ipv4: (text) => text.length <= 15 && IPV4.test(text),
};

/**
 * What a whole number can be. A number of the right length passes the check sum in one of ten cases,
 * and identifiers and times are numbers too: it must also start like a card.
 */
export const DETECT_NUMBER: Partial<Record<DetectorName, (number: number | bigint) => boolean>> = {
  credit_card: (number) => {
    const text = String(number);
    return ISSUERS.test(text) && hasLuhnSum(text);
  },
};

/**
 * Whether a value of the type may be of the kind: a text may be of any, and digits of one that has
 * enough of them.
 */
export function canFindIn(detector: DetectorName | undefined, type: RecordType): boolean {
  if (detector === undefined) return false;
  switch (type.kind) {
    case 'utf8':
      return true;
    case 'decimal':
      return digitsOf(type) >= (FEWEST_DIGITS[detector] ?? Infinity);
    case 'int64':
    case 'uint64':
      return DETECT_NUMBER[detector] !== undefined;
    default:
      return false;
  }
}

/** Of the kinds that have nothing but digits, and signs that a number has too. */
const FEWEST_DIGITS: Partial<Record<DetectorName, number>> = { credit_card: 13, phone: 10 };

/** At most; a fraction has a zero before it. */
function digitsOf({ precision = Infinity, scale = 0 }: DecimalType): number {
  return Math.max(precision, scale + 1);
}

/** Visa, Mastercard, American Express, Diners Club, Discover, UnionPay, JCB, Maestro, Mir. */
const ISSUERS =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d|2\d\d)\d{12,15}|35(?:2[89]|[3-8]\d)\d{12,15}|(?:5[06-8]|6[39])\d{11,17}|220[0-4]\d{12,15})$/;

const EMAIL = /^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$/;
/** 13 to 19 digits with at most one space or dash between two of them. */
const CARD = /^[0-9](?:[ -]?[0-9]){12,18}$/;
const SSN = /^(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}$/;
const PHONE = /^\+?[0-9 .()-]+$/;
const IPV4 = /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?:\.(?!$)|$)){4}$/;

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function hasPhoneDigits(text: string): boolean {
  let digits = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (isDigit(text.charCodeAt(i))) digits += 1;
  }
  return digits >= 10 && digits <= 15;
}

/**
 * From the right every second digit counts twice (less nine when above nine); the sum must divide
 * by ten.
 */
function hasLuhnSum(text: string): boolean {
  let sum = 0;
  let twice = false;
  for (let i = text.length - 1; i >= 0; i -= 1) {
    const code = text.charCodeAt(i);
    if (!isDigit(code)) continue;
    const digit = code - 48;
    const weighed = twice ? digit * 2 : digit;
    sum += weighed > 9 ? weighed - 9 : weighed;
    twice = !twice;
  }
  return sum % 10 === 0;
}
