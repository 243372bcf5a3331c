/** How far each capture instance is read. */
import { ConnectorError } from '../../../lib/errors.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { later, parseLsn, type Lsn } from './lsn.ts';

/** By the name of the capture instance, as the config has it: the last number that is read. */
export type Positions = ReadonlyMap<string, Lsn>;

/** Every instance is read through this number, or as far as it was at the start. */
export function readThrough(start: Positions, through: Lsn): Positions {
  return new Map([...start].map(([name, lsn]) => [name, later(lsn, through)]));
}

export function bookmarkOf(positions: Positions): JsonObject {
  return Object.fromEntries(positions);
}

/** Of the instances that are read; names are the same in any case of their letters. */
export function storedPositions(bookmark: JsonValue, names: readonly string[]): Positions {
  const found = new Map<string, Lsn>();
  const given = isObject(bookmark) ? Object.entries(bookmark) : [];
  for (const [written, value] of given) {
    const lsn = typeof value === 'string' ? parseLsn(value) : undefined;
    if (lsn === undefined) throw foreign();
    const name = names.find((one) => inOneCase(one) === inOneCase(written));
    if (name !== undefined) found.set(name, lsn);
  }
  if (given.length === 0) throw foreign();
  return found;
}

function foreign(): ConnectorError {
  return new ConnectorError('data', 'the bookmark is none of the source mssql-cdc', {
    hint: 'remove it from the state store to start over',
  });
}
