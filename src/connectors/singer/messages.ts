/** Lines of a tap. Others than messages of the protocol are told apart, never guessed at. */
import { isObject, parseData, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export type TapMessage =
  | { readonly type: 'RECORD'; readonly stream: string; readonly record: JsonObject }
  | { readonly type: 'SCHEMA'; readonly stream: string; readonly schema: JsonObject }
  | { readonly type: 'STATE'; readonly value: JsonValue }
  | { readonly type: 'ACTIVATE_VERSION' | 'BATCH' };

/** `undefined` for a line that is no message. */
export function readMessage(line: string): TapMessage | undefined {
  const message = jsonOf(line);
  if (!isObject(message)) return undefined;
  const { type, stream, record, schema, value } = message;
  switch (type) {
    case 'RECORD':
      return typeof stream === 'string' && isObject(record) ? { type, stream, record } : undefined;
    case 'SCHEMA':
      return typeof stream === 'string' && isObject(schema) ? { type, stream, schema } : undefined;
    case 'STATE':
      return value === undefined ? undefined : { type, value };
    case 'ACTIVATE_VERSION':
    case 'BATCH':
      return { type };
    default:
      return undefined;
  }
}

function jsonOf(line: string): JsonValue | undefined {
  try {
    return parseData(line);
  } catch {
    return undefined;
  }
}
