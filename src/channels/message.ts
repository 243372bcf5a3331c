import type { ChannelMessage } from '../kit/channel.ts';
import { stringifyJson, type JsonValue } from '../lib/text/json.ts';

export function jsonMessage(url: string, body: JsonValue): ChannelMessage {
  return {
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: stringifyJson(body),
  };
}

/** At most so many characters, with a mark where more were. */
export function shortened(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).toWellFormed()}…`;
}
