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
}

/** `keys` are the columns of each key of the table. */
export function placeRefusal(
  error: unknown,
  { columns, rows }: RowSet,
  keys: readonly (readonly string[])[] = [],
): unknown {
  if (error instanceof Error) nameColumns(error, columns);
  const message = messageOf(error);
  const key = duplicateKey(message);
  const row =
    key === undefined
      ? rowOfValue(refusedIn(message), { columns, rows })
      : rowOfKey(key, { columns, rows }, keys);
  return row === undefined ? error : withRefusedRow(error, row);
}

function rowOfValue(refused: Refused | undefined, { columns, rows }: RowSet): number | undefined {
  if (refused === undefined) return undefined;
  const places = columns.flatMap(({ name }, place) =>
    refused.column === undefined || name === refused.column ? [place] : [],
  );
  const row = rows.findIndex((one) => places.some((place) => refused.matches(one[place] ?? null)));
  return row === -1 ? undefined : row;
}

interface DuplicateKey {
  readonly text: string;
  /** Whether the text has the names of the columns, as it has for a key that the table holds. */
  readonly isNamed: boolean;
}

export function duplicateKey(message: string): DuplicateKey | undefined {
  const named = /Duplicate key "(.*)" violates/s.exec(message)?.[1];
  if (named !== undefined) return { text: named, isNamed: true };
  const text = /violation: duplicate key "(.*)"/s.exec(message)?.[1];
  return text === undefined ? undefined : { text, isNamed: false };
}

/** `undefined` where rows of several keys could be meant. */
function rowOfKey(
  { text, isNamed }: DuplicateKey,
  { columns, rows }: RowSet,
  keys: readonly (readonly string[])[],
): number | undefined {
  const found = new Set<number>();
  for (const key of keys) {
    const places = key.map((name) => columns.findIndex((column) => column.name === name));
    const textOf = (row: readonly JsonValue[]): string =>
      places
        .map((place, at) => `${isNamed ? `${key[at]}: ` : ''}${jsonText(row[place] ?? null)}`)
        .join(', ');
    const equal = places.includes(-1)
      ? []
      : rows.flatMap((row, at) => (textOf(row) === text ? [at] : []));
    // Of two equal rows the engine has taken the first.
    const refused = isNamed ? (equal[1] ?? equal[0]) : equal[1];
    if (refused !== undefined) found.add(refused);
  }
  const [only] = found;
  return found.size === 1 ? only : undefined;
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
  return missing === undefined
    ? undefined
    : { column: missing, matches: (value) => value === null };
}

function isText(text: string): Matches {
  return (value) => value !== null && jsonText(value) === text;
}
