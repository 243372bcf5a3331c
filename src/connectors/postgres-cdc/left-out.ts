/** What a publication leaves out of the changes of its tables, which the log then does not tell. */
import type { Client } from 'pg';
import { literal } from './slot.ts';

/** More tables than these are counted. */
const NAMED = 5;

/** Sentences for people; none where the publication gives everything. */
export async function leftOut(client: Client, publication: string): Promise<string[]> {
  const [operations] = (await client.query<Operations>(operationsOf(publication))).rows;
  const { rows: tables } = await client.query<TableGap>(tablesOf(publication));
  const missing = OPERATIONS.filter((name) => operations?.[name] === false);
  return [
    ...(missing.length === 0 ? [] : [`no ${missing.join(', no ')}`]),
    ...listed(
      'some rows of',
      tables.filter(({ filtered }) => filtered),
      ({ name }) => name,
    ),
    ...listed(
      'columns of',
      tables.filter(({ lacking }) => lacking !== null),
      ({ name, lacking }) => `${name} (${lacking ?? ''})`,
    ),
  ];
}

const OPERATIONS = ['insert', 'update', 'delete', 'truncate'] as const;

/** Older servers know less of it: what they do not know is not left out. */
type Operations = Readonly<Record<(typeof OPERATIONS)[number], boolean | null>>;

interface TableGap {
  readonly name: string;
  readonly filtered: boolean;
  readonly lacking: string | null;
}

function listed(
  what: string,
  tables: readonly TableGap[],
  text: (table: TableGap) => string,
): string[] {
  if (tables.length === 0) return [];
  const more = tables.length > NAMED ? ` and ${tables.length - NAMED} more` : '';
  return [`${what} ${tables.slice(0, NAMED).map(text).join(', ')}${more}`];
}

function operationsOf(publication: string): string {
  const columns = OPERATIONS.map((name) => `(to_jsonb(p) ->> 'pub${name}')::boolean AS ${name}`);
  return `SELECT ${columns.join(', ')} FROM pg_publication AS p WHERE pubname = ${literal(publication)}`;
}

/** Columns that the server computes belong to a publication only where it says so. */
function tablesOf(publication: string): string {
  return `
  SELECT * FROM (
    SELECT format('%I.%I', schemaname, tablename) AS name,
      told ->> 'rowfilter' IS NOT NULL AS filtered,
      (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_attribute AS a
        WHERE a.attrelid = format('%I.%I', schemaname, tablename)::regclass
          AND a.attnum > 0 AND NOT a.attisdropped
          AND NOT coalesce(told -> 'attnames' ? a.attname::text,
            coalesce(to_jsonb(a) ->> 'attgenerated', '') = '')) AS lacking
    FROM (SELECT schemaname, tablename, to_jsonb(t) AS told
      FROM pg_publication_tables AS t WHERE pubname = ${literal(publication)}) AS published
  ) AS gaps WHERE filtered OR lacking IS NOT NULL ORDER BY name`;
}
