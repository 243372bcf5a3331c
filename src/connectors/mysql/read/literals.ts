/** Values as literals, which no text inside them can end, whatever the SQL mode. */
import { isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';

export function sqlLiteral(written: JsonValue): string {
  const value = isLiteral(written) ? literalValue(written) : written;
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? String(value) : 'NULL';
    case 'bigint':
      return String(value);
    case 'boolean':
      return value ? 'TRUE' : 'FALSE';
    default: {
      if (value === null) return 'NULL';
      const text = jsonText(value);
      return text === '' ? "''" : `_utf8mb4 X'${Buffer.from(text).toString('hex')}'`;
    }
  }
}

const INSTANT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(\.\d+)?(?:Z|([+-]\d{2}:?\d{2}))?$/i;

/**
 * An instant, or a wall clock, as the server reads it in a session whose zone is UTC: `2024-05-06
 * 07:08:09.5`. Any other text stays as it is.
 */
export function serverTime(text: string): string {
  const [match, day = '', clock = '', fraction = '', offset] = INSTANT.exec(text) ?? [];
  if (match === undefined) return text;
  if (offset === undefined || /^[+-]00:?00$/.test(offset)) return `${day} ${clock}${fraction}`;
  const moment = new Date(`${day}T${clock}${offset}`);
  if (Number.isNaN(moment.getTime())) return text;
  return `${moment.toISOString().slice(0, 19).replace('T', ' ')}${fraction}`;
}
