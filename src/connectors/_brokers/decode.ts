import { z } from 'zod';
import { nullAsAbsent } from '../../kit/schema.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { parseData, type JsonValue } from '../../lib/text/json.ts';
import { utf8Text } from './payload.ts';

export type OnDecodeError = 'fail' | 'skip' | 'dlq';

export function onDecodeError() {
  return nullAsAbsent(z.enum(['fail', 'skip', 'dlq']).default('fail')).meta({
    description:
      'What a message does that cannot be decoded: end the run, be left out, or go to the dead-letter queue.',
  });
}

export const onDecodeErrorHint =
  'set `on_decode_error` to `skip`, or to `dlq` with a dead-letter queue';

export type ValueFormat = 'json' | 'string' | 'bytes';

/** The payload as the format says. */
export function decodedPayload(bytes: Uint8Array, format: ValueFormat, what: string): JsonValue {
  if (format === 'bytes') return Buffer.from(bytes).toString('base64');
  const text = utf8Text(bytes);
  if (text === undefined)
    throw new ConnectorError('data', `${what} is not UTF-8 text`, { hint: onDecodeErrorHint });
  if (format === 'string') return text;
  try {
    return parseData(text);
  } catch {
    // The error would show a part of the payload.
    const hint = `set \`value_format\` to what it is, or ${onDecodeErrorHint}`;
    throw new ConnectorError('data', `${what} is not JSON`, { hint });
  }
}
