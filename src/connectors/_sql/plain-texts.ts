/** Values as texts, of which a statement makes values of columns. */
import type { RecordType } from '../../kit/record-schema.ts';
import { isBase64 } from '../../kit/typed-values.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isLiteral, literalValue } from '../../lib/text/json-literal.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';

export function plainText(value: JsonValue): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'object')
    return isLiteral(value) ? plainText(literalValue(value)) : stringifyJson(value);
  return Object.is(value, -0) ? '-0' : String(value);
}

/** In hexadecimal digits. A text that no source says to be bytes stands for its letters. */
export function hexEncoder({
  name,
  type,
}: {
  readonly name: string;
  readonly type?: RecordType | undefined;
}): (value: JsonValue) => string | null {
  return (value) => {
    const text = plainText(value);
    if (text === null) return null;
    if (type?.kind !== 'binary') return Buffer.from(text).toString('hex');
    if (isBase64(text)) return Buffer.from(text, 'base64').toString('hex');
    throw new ConnectorError('data', `a value of \`${name}\` is not base64, as bytes are`, {
      hint: 'leave the field as it was read, or write it into a text column',
    });
  };
}

const WITH_ZONE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)$/i;

/** A column without a zone would keep the clock of any zone: it holds those of UTC. */
export function inUtc(text: string | null): string | null {
  const [match, day, clock = '', zone = ''] = text === null ? [] : (WITH_ZONE.exec(text) ?? []);
  if (match === undefined || day === undefined) return text;
  if (/^z$/i.test(zone)) return `${day}T${clock}`;
  const [whole = '', fraction] = clock.split('.');
  const moment = new Date(
    `${day}T${whole}${zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`}`,
  );
  if (Number.isNaN(moment.getTime())) return text;
  const seconds = moment.toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
  return fraction === undefined ? seconds : `${seconds}.${fraction}`;
}

/** The server takes `true` for a number, which nobody meant. */
export function numberText(name: string, text: string | null): string | null {
  if (text !== 'true' && text !== 'false') return text;
  throw new ConnectorError('data', `the column \`${name}\` is a number, which ${text} is not`, {
    hint: 'convert the field with `cast`, or write it into another column',
  });
}
