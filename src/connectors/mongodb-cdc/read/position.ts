/** Positions in a change stream: the resume token of the server. */
import { ConnectorError } from '../../../lib/errors.ts';
import {
  isObject,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { tokenOf, type MongodbCdcConfig } from '../config.ts';

export interface StreamPosition {
  readonly token: JsonObject;
  /** It may be that of an event that ended a stream, behind which only another one can begin. */
  readonly isInvalidate: boolean;
}

/** The `start_from` that goes before bookmarks of others, as a text; `undefined`: it does not. */
export function startMark({ start_from: start }: MongodbCdcConfig): string | undefined {
  if (start.type === 'timestamp') return `timestamp ${start.timestamp_secs}`;
  if (start.type !== 'resume_token') return undefined;
  return `resume_token ${stringifyJson(tokenOf(start.token) ?? null)}`;
}

/** With the `start_from` under which it was read, so that it counts from then on. */
export function bookmarkOf({ token, isInvalidate }: StreamPosition, mark?: string): JsonObject {
  return {
    resume_token: token,
    ...(isInvalidate ? { invalidate: true } : {}),
    ...(mark === undefined ? {} : { start_from: mark }),
  };
}

export interface StoredPosition {
  readonly position: StreamPosition;
  readonly mark: string | undefined;
}

export function storedPosition(bookmark: JsonValue): StoredPosition {
  if (isObject(bookmark)) {
    const { resume_token: given = null, invalidate = false, start_from: mark } = bookmark;
    const token = tokenOf(given);
    const isMark = mark === undefined || typeof mark === 'string';
    if (token !== undefined && typeof invalidate === 'boolean' && isMark)
      return { position: { token, isInvalidate: invalidate }, mark };
  }
  throw new ConnectorError('data', 'the bookmark is none of the source mongodb-cdc', {
    hint: 'remove it from the state store to start over',
  });
}

export function isSame(one: StreamPosition | undefined, other: StreamPosition): boolean {
  return one !== undefined && stringifyJson(one.token) === stringifyJson(other.token);
}
