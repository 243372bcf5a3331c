import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { formatLsn, parseLsn } from './lsn.ts';

/** The end of the last transaction that was given whole. */
export function bookmarkOf(lsn: bigint): JsonObject {
  return { last_lsn: formatLsn(lsn) };
}

export function lsnOf(bookmark: JsonValue): bigint {
  const text = isObject(bookmark) ? bookmark['last_lsn'] : undefined;
  const lsn = typeof text === 'string' ? parseLsn(text) : undefined;
  if (lsn !== undefined) return lsn;
  throw new ConnectorError('data', 'the bookmark is none of the source postgres-cdc', {
    hint: 'remove it from the state store to start over',
  });
}
