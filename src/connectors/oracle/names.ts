/** Names, as statements of Oracle read them. */
import { quoteName } from '../../lib/sql/sql-name.ts';
import { foldedName } from '../_sql/folded-names.ts';

export interface TableName {
  /** Absent: the schema of the user. */
  readonly owner?: string;
  readonly table: string;
}

const PLAIN = /^[A-Za-z][A-Za-z0-9_$#]*$/;

/** The name as the server has it. */
export function storedName(written: string): string {
  return foldedName(written, PLAIN);
}

const PART = /"(?:[^"]|"")+"|[^."]+/g;

/** `owner.table`; a dot inside of double quotes is a letter. */
export function parseTable(written: string): TableName {
  const parts = [...written.matchAll(PART)].map(([text]) => text);
  const [first = '', second] = parts;
  if (parts.length > 2 || parts.join('.') !== written) return { table: written };
  return second === undefined
    ? { table: storedName(first) }
    : { owner: storedName(first), table: storedName(second) };
}

export function tableSql({ owner, table }: TableName): string {
  return owner === undefined ? quoteName(table) : `${quoteName(owner)}.${quoteName(table)}`;
}
