import { parseJson } from '../../../lib/text/json.ts';
import { isEncrypted } from '../../../lib/crypto/encryption.ts';
import type { LineRules } from './torn-end.ts';

const INDENT = 0x20;
const CLOSERS: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/**
 * Valid for indented files too: only the first line of a value starts with neither a space nor a
 * closing bracket.
 */
export const JSON_RULES: LineRules = {
  startsRecord: (first) => first !== INDENT && !CLOSERS.has(first),
  isWhole: (text) => {
    try {
      return text.trim() === '' || parseJson(text) !== undefined;
    } catch {
      return false;
    }
  },
};

const ENCRYPTED_BYTES = 33;

export const ENCRYPTED_RULES: LineRules = {
  startsRecord: () => true,
  isWhole: (text) => {
    const bytes = Buffer.from(text, 'base64');
    // The Base64 text of a complete line has a length that is a multiple of four.
    return text.trim().length % 4 === 0 && bytes.length >= ENCRYPTED_BYTES && isEncrypted(bytes);
  },
};

/** Text has no incomplete lines: a last line without a line end gets one. */
export const TEXT_RULES: LineRules = { startsRecord: () => true, isWhole: () => true };
