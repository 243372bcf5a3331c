import { ConnectorError } from '../../../lib/errors.ts';
import { jsonText, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { renderPosition } from '../../_http/positions.ts';
import type { Bind } from '../config/replication-config.ts';
import type { Overlay } from '../request/request-parts.ts';

export interface Bound {
  readonly bind: Bind;
  readonly token: string;
  readonly value: JsonValue;
}

/** Positions in a request: some as parameters or fields, some in its path. */
export interface Placed {
  readonly overlay: Overlay;
  readonly pathValues: JsonObject;
}

export const NOTHING_BOUND: Placed = { overlay: {}, pathValues: {} };

/**
 * `filter` is the OData filter of the config, to which conditions are added instead of replacing
 * it.
 */
export function place(bounds: readonly Bound[], filter: string | undefined): Placed {
  const query: [string, string][] = [];
  const headers: Record<string, string> = {};
  const body: [string, JsonValue][] = [];
  const pathValues: JsonObject = {};
  for (const { bind, token, value } of bounds) {
    const written = renderPosition(value, bind, token);
    if (written === undefined) throw cannotWrite(value, bind.format);
    if (bind.into === 'query') query.push([bind.name, jsonText(written)]);
    else if (bind.into === 'header') headers[bind.name] = jsonText(written);
    else if (bind.into === 'body') body.push([bind.name, written]);
    else pathValues[bind.name] = written;
  }
  return { overlay: { query: oneFilter(query, filter), headers, body }, pathValues };
}

const FILTER = '$filter';

/** Joins conditions of an OData filter with `and`. */
function oneFilter(
  query: readonly [string, string][],
  configured: string | undefined,
): readonly (readonly [string, string])[] {
  const conditions = query.filter(([name]) => name === FILTER).map(([, value]) => value);
  if (conditions.length === 0 || (conditions.length === 1 && configured === undefined))
    return query;
  const all = configured === undefined ? conditions : [configured, ...conditions];
  return [
    ...query.filter(([name]) => name !== FILTER),
    [FILTER, all.map((one) => `(${one})`).join(' and ')],
  ];
}

function cannotWrite(value: JsonValue, format: string): ConnectorError {
  return new ConnectorError(
    'data',
    `the bookmark ${jsonText(value)} is not a time and cannot be written as \`${format}\``,
    {
      hint: 'set `format: raw`, or reset the stored state',
    },
  );
}
