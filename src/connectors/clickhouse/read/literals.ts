/** Values as literals of statements. */
import { isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { bareType, type ClickhouseType } from '../types/parse-type.ts';
import { quoted } from '../types/quote.ts';

export function literal(written: JsonValue): string {
  const value = isLiteral(written) ? literalValue(written) : written;
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? String(value) : 'NULL';
    case 'bigint':
      return String(value);
    case 'boolean':
      return value ? '1' : '0';
    default:
      return value === null ? 'NULL' : quoted(jsonText(value));
  }
}

const CLOCK = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(\.\d+)?(Z|[+-]\d{2}:?\d{2})?$/i;

/** For comparisons with a column of the type: a text is no time, and a double is no decimal. */
export function literalFor(written: ClickhouseType): (value: JsonValue) => string {
  const { type } = bareType(written);
  const { name, args } = type;
  if (name === 'DateTime' || name === 'DateTime32') return (value) => timeLiteral(value, undefined);
  if (name === 'DateTime64') return (value) => timeLiteral(value, args[0]?.text ?? '3');
  if (name === 'Date' || name === 'Date32')
    return (value) =>
      typeof value === 'string' ? `to${name}(${quoted(value.slice(0, 10))})` : literal(value);
  if (name === 'UUID') return (value) => `toUUID(${quoted(jsonText(value))})`;
  if (/^U?Int(?:128|256)$/.test(name)) return (value) => `to${name}(${quoted(jsonText(value))})`;
  if (name === 'Decimal') {
    const [precision = 0, scale = 0] = args.map(({ text }) => Number(text));
    const bits = precision <= 9 ? 32 : precision <= 18 ? 64 : precision <= 38 ? 128 : 256;
    return (value) => `toDecimal${bits}(${quoted(jsonText(value))}, ${scale})`;
  }
  if (name === 'String' || name === 'FixedString') return (value) => quoted(jsonText(value));
  // The digits of a text are those of a number.
  if (/^U?Int\d+$|^Float\d+$/.test(name))
    return (value) =>
      typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value) ? value : literal(value);
  return literal;
}

/** Bookmarks are instants; a clock without a zone is read as one of UTC. */
function timeLiteral(value: JsonValue, digits: string | undefined): string {
  if (typeof value !== 'string') return literal(value);
  const [match, day = '', clock = '', fraction = '', zone = 'Z'] = CLOCK.exec(value.trim()) ?? [];
  const dated = match === undefined && /^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value} 00:00:00` : '';
  if (match === undefined && dated === '') return literal(value);
  const text = dated === '' ? inUtc(day, clock, zone) : dated;
  return digits === undefined
    ? `toDateTime(${quoted(text)}, 'UTC')`
    : `toDateTime64(${quoted(text + fraction)}, ${digits}, 'UTC')`;
}

function inUtc(day: string, clock: string, zone: string): string {
  const offset = /^z$/i.test(zone) ? 'Z' : zone;
  const moment = new Date(`${day}T${clock}${offset}`);
  return Number.isNaN(moment.getTime())
    ? `${day} ${clock}`
    : moment.toISOString().slice(0, 19).replace('T', ' ');
}
