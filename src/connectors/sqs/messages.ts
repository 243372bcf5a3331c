import type { MessageFormat } from '../_brokers/message-source.ts';
import { jsonOrText } from '../_brokers/payload.ts';

/** A message that was received. */
export interface SqsMessage {
  readonly id: string;
  /** Of this delivery; the next one of the same message has another. */
  readonly handle: string;
  readonly body: string;
  /** `deleted`: it does not come again; `lost`: somebody else may have it by now. */
  state: 'held' | 'deleted' | 'lost';
  /** Until when nobody else gets it, in milliseconds of the clock. */
  hiddenUntilMs: number;
}

const ENVELOPE_BYTES = 128;

export function formatOf(queueUrl: string): MessageFormat<SqsMessage> {
  return {
    record: ({ body }) => jsonOrText(body),
    bytes: ({ body }) => Buffer.from(body),
    size: ({ body }) => Buffer.byteLength(body) + ENVELOPE_BYTES,
    name: () => queueUrl,
  };
}
