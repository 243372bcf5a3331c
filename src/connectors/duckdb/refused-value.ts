/** Finds the row of a value that the engine refused: its message has the value alone. */
import { messageOf } from '../../lib/errors.ts';
import { jsonText, type JsonValue } from '../../lib/text/json.ts';
import type { RowSet } from '../_sql/driver.ts';
import { withRefusedRow } from '../_sql/refused-row.ts';

type Matches = (value: JsonValue) => boolean;

interface Refused {
  /** Absent where the message does not say it. */
  readonly column?: string | undefined;
  readonly matches: Matches;
  /** Of two equal rows the engine has taken the first. */
  readonly isDuplicate?: boolean;
}

export function placeRefusal(error: unknown, { columns, rows }: RowSet): unknown {
  if (error instanceof Error) nameColumns(error, columns);
  const refused = refusedIn(messageOf(error));
  if (refused === undefined) return error;
  const places = columns.flatMap(({ name }, place) =>
    refused.column === undefined || name === refused.column ? [place] : [],
  );
  const isIn = (row: readonly JsonValue[]): boolean =>
    places.some((place) => refused.matches(row[place] ?? null));
  const first = rows.findIndex(isIn);
  const second =
    refused.isDuplicate === true ? rows.findIndex((row, at) => at > first && isIn(row)) : -1;
  const row = second === -1 ? first : second;
  return row === -1 ? error : withRefusedRow(error, row);
}

/** Rows come from a table whose columns are called `c0`, `c1`, …. */
function nameColumns(error: Error, columns: RowSet['columns']): void {
  error.message = error.message.replace(
    / when casting from source column c(\d+)/,
    (all, place: string) => {
      const column = columns[Number(place)];
      return column === undefined ? all : ` (column "${column.name}")`;
    },
  );
}

function refusedIn(message: string): Refused | undefined {
  const column = / \(column "(.*)"\)/.exec(message)?.[1];
  const text =
    /Could not convert string ['"](.*)['"] to /s.exec(message)?.[1] ??
    /field (?:value out of range|format): "([^"]*)"/.exec(message)?.[1];
  if (text !== undefined) return { column, matches: isText(text) };
  const missing = /NOT NULL constraint failed: (?:.*\.)?(.+)$/m.exec(message)?.[1];
  if (missing !== undefined) return { column: missing, matches: (value) => value === null };
  const key = /Duplicate key "([^:,]+): (.*)" violates/.exec(message);
  return key?.[2] === undefined
    ? undefined
    : { column: key[1], matches: isText(key[2]), isDuplicate: true };
}

function isText(text: string): Matches {
  return (value) => value !== null && jsonText(value) === text;
}
