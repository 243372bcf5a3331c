import type { DetectorName } from '../../blocks/masking/schema.ts';

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
