/** Which column a field goes to, and names that a database would read as another name. */
import { keepForm } from '../../lib/value-form.ts';
import { ConnectorError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';

/** How a database reads names. */
export interface NameRules {
  /** Longer names are cut to this many bytes without an error. */
  readonly mostBytes?: number;
  /** Names that differ only in the case of ASCII letters mean the same column. */
  readonly ignoresCase: boolean;
  /** A column may have the empty name. */
  readonly takesEmpty?: boolean;
}

/** How many records hold each field that the table has no column for. */
export type UnknownFields = ReadonlyMap<string, number>;

const RENAME = 'rename the field (transform `rename_field`), or select it under another name';

/** For columns that are about to be created. */
export function refuseNames(names: readonly string[], rules: NameRules): void {
  refuseLongNames(names, rules);
  if (rules.takesEmpty !== true && names.includes(''))
    throw new ConnectorError(
      'data',
      'a field has no name, which no column of the database can have',
      {
        hint: `${RENAME}; in a file of delimited text, the header has an empty cell`,
      },
    );
  const zero = names.find((name) => name.includes('\0'));
  if (zero === undefined) return;
  const message = `the field ${JSON.stringify(zero)} has a zero byte in its name, which no column can have`;
  throw new ConnectorError('data', message, { hint: RENAME });
}

/** For names that are about to be created or used. */
export function refuseLongNames(
  names: readonly string[],
  { mostBytes }: NameRules,
  what = 'column',
): void {
  const long = names.find((name) => mostBytes !== undefined && Buffer.byteLength(name) > mostBytes);
  if (long === undefined) return;
  throw new ConnectorError(
    'data',
    `the ${what} name ${JSON.stringify(long)} has ${Buffer.byteLength(long)} bytes, and the database cuts names to ${mostBytes}`,
    { hint: what === 'column' ? RENAME : 'use a shorter name' },
  );
}

/**
 * A name that the database could take for a column although no column has exactly this name: it is
 * spelled in another case, or equal to it when it is cut.
 */
export function nearColumn(
  field: string,
  columns: readonly string[],
  { mostBytes }: NameRules,
): string | undefined {
  const isLong = mostBytes !== undefined && Buffer.byteLength(field) > mostBytes;
  if (isLong) return columns.find((name) => name === cut(field, mostBytes));
  return columns.find((name) => isSame(name, field));
}

/**
 * Records whose fields are named as the columns, for fields that differ from a column only in case:
 * matched where the database ignores case, refused where the column would silently stay empty.
 * `unknown` are the fields without a column of exactly this name; returns the records themselves
 * when nothing has to be changed.
 */
export function inColumnNames(
  records: readonly JsonObject[],
  unknown: UnknownFields,
  { columns, rules }: { readonly columns: readonly string[]; readonly rules: NameRules },
): readonly JsonObject[] {
  const near = new Map<string, string>();
  for (const field of unknown.keys()) {
    const column = nearColumn(field, columns, rules);
    if (column !== undefined) near.set(field, column);
  }
  if (near.size === 0) return records;
  return records.map((record) => {
    if (rules.ignoresCase) return renamed(record, (field) => near.get(field) ?? field);
    for (const [field, column] of near)
      if (hasField(record, field) && !hasField(record, column)) throw nearMiss(field, column);
    return record;
  });
}

/**
 * The records with each name in the case in which it comes first, for a table that is about to be
 * created.
 */
export function inFirstCase(records: readonly JsonValue[]): readonly JsonObject[] {
  const spellings = new Map<string, string>();
  const first = (field: string): string => {
    const folded = inOneCase(field);
    const spelling = spellings.get(folded);
    if (spelling === undefined) spellings.set(folded, field);
    return spelling ?? field;
  };
  return records.filter(isObject).map((record) => renamed(record, first));
}

function renamed(record: JsonObject, columnOf: (field: string) => string): JsonObject {
  const out: JsonObject = {};
  const fieldOf = new Map<string, string>();
  for (const [field, value] of Object.entries(record)) {
    const column = columnOf(field);
    const other = fieldOf.get(column);
    if (other !== undefined) throw sameColumn(other, field);
    fieldOf.set(column, field);
    setField(out, column, value);
    keepForm(record, field, out, column);
  }
  return out;
}

function isSame(column: string, field: string): boolean {
  return column.length === field.length && inOneCase(column) === inOneCase(field);
}

/** As PostgreSQL does: never in the middle of a character. */
function cut(name: string, mostBytes: number): string {
  let [text, bytes] = ['', 0];
  for (const char of name) {
    bytes += Buffer.byteLength(char);
    if (bytes > mostBytes) break;
    text += char;
  }
  return text;
}

function nearMiss(field: string, column: string): ConnectorError {
  const why =
    inOneCase(field) === inOneCase(column)
      ? 'differ only in case, and the database tells them apart'
      : 'are the same only when the name is cut';
  return new ConnectorError(
    'data',
    `the field ${JSON.stringify(field)} has no column: it and the column ${JSON.stringify(column)} ${why}`,
    {
      hint: `rename the field to ${JSON.stringify(column)}, or drop it (transforms \`rename_field\`, \`drop\`)`,
    },
  );
}

function sameColumn(field: string, other: string): ConnectorError {
  return new ConnectorError(
    'data',
    `a record has the fields ${JSON.stringify(field)} and ${JSON.stringify(other)}, which are one column: the database ignores case in names`,
    { hint: RENAME },
  );
}
