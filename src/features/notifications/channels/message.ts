import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';

/** One request of a channel. */
export interface Message {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function jsonMessage(url: string, body: JsonValue): Message {
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
