import { z } from 'zod';
import { nullAsAbsent } from '../../kit/schema.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import type { ValueFormat } from './decode.ts';

export function valueFormat(description: string) {
  return nullAsAbsent(z.enum(['json', 'string', 'bytes']).default('json')).meta({ description });
}

/** The record as the format says; `undefined` where the bytes of one are no text of base64. */
export function encodedPayload(record: JsonValue, format: ValueFormat): Buffer | undefined {
  if (format === 'json') return Buffer.from(stringifyJson(record));
  if (format === 'string')
    return Buffer.from(typeof record === 'string' ? record : stringifyJson(record));
  const bytes = typeof record === 'string' ? Buffer.from(record, 'base64') : undefined;
  return bytes?.toString('base64') === record ? bytes : undefined;
}

/** Throws for the record of that number of the page. */
export function payloadOfRecord(record: JsonValue, index: number, format: ValueFormat): Buffer {
  const bytes = encodedPayload(record, format);
  if (bytes !== undefined) return bytes;
  throw new ConnectorError('data', 'a record is no base64 text', {
    record: index,
    hint: 'with `value_format: bytes` each record is a text with the bytes as base64',
  });
}
