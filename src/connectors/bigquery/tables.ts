/** Tables of a dataset, and their columns. */
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { isMissing } from './errors.ts';
import type { Link } from './link.ts';

const PAGE = 1000;

export function tablePath(dataset: string, table: string): string {
  return `datasets/${encodeURIComponent(dataset)}/tables/${encodeURIComponent(table)}`;
}

/** What BigQuery tells of a table; `undefined` where there is none. */
export async function lookAtTable(
  link: Link,
  dataset: string,
  table: string,
): Promise<JsonObject | undefined> {
  try {
    return await link.ask(`looking at \`${table}\``, { path: tablePath(dataset, table) });
  } catch (error) {
    if (isMissing(error) && (await hasDataset(link, dataset))) return undefined;
    throw error;
  }
}

/** Without its dataset a table is not only missing: it cannot be made. */
async function hasDataset(link: Link, dataset: string): Promise<boolean> {
  await link.ask(`looking at \`${dataset}\``, { path: `datasets/${encodeURIComponent(dataset)}` });
  return true;
}

export interface ListedTable {
  readonly dataset: string;
  readonly table: string;
  /** `TABLE`, `VIEW`, `EXTERNAL`, … */
  readonly kind: string;
}

export async function* tablesOf(link: Link, dataset: string): AsyncGenerator<ListedTable> {
  const path = `datasets/${encodeURIComponent(dataset)}/tables`;
  for await (const one of listed(link, path, 'tables')) {
    const { tableReference, type } = one;
    const id = isObject(tableReference) ? tableReference['tableId'] : undefined;
    if (typeof id === 'string') yield { dataset, table: id, kind: jsonText(type ?? '') };
  }
}

export async function* datasetsOf(link: Link): AsyncGenerator<string> {
  for await (const { datasetReference } of listed(link, 'datasets', 'datasets')) {
    const id = isObject(datasetReference) ? datasetReference['datasetId'] : undefined;
    if (typeof id === 'string') yield id;
  }
}

async function* listed(link: Link, path: string, what: string): AsyncGenerator<JsonObject> {
  let token: JsonValue | undefined;
  do {
    const pageToken = typeof token === 'string' ? token : undefined;
    const answer = await link.ask(`listing ${what}`, {
      path,
      query: { maxResults: PAGE, pageToken },
    });
    const found = answer[what];
    yield* (Array.isArray(found) ? found : []).filter(isObject);
    token = answer['nextPageToken'];
  } while (typeof token === 'string' && token !== '');
}

/** The columns in the description of a table. */
export function schemaIn({ schema }: JsonObject): readonly JsonValue[] {
  const { fields } = isObject(schema) ? schema : {};
  return Array.isArray(fields) ? fields : [];
}
