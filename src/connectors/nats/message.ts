import type { MessageFormat } from '../_brokers/message-source.ts';
import { onDecodeErrorHint } from '../_brokers/decode.ts';
import { jsonOrText, utf8Text } from '../_brokers/payload.ts';
import { ConnectorError } from '../../lib/errors.ts';

interface Received {
  readonly subject: string;
  readonly data: Uint8Array;
}

const ENVELOPE_BYTES = 16;

export function sizeOf({ subject, data }: Received): number {
  return data.length + subject.length + ENVELOPE_BYTES;
}

/** The payload as JSON; text that is none is itself the record. */
export const natsFormat: MessageFormat<Received> = {
  record: ({ subject, data }) => {
    const text = utf8Text(data);
    if (text !== undefined) return jsonOrText(text);
    throw new ConnectorError('data', `a message of \`${subject}\` is not UTF-8 text`, {
      hint: onDecodeErrorHint,
    });
  },
  bytes: ({ data }) => data,
  size: sizeOf,
  name: ({ subject }) => subject,
};
