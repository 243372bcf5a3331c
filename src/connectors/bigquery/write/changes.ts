/** Sends changes of rows as statements: few requests, each of which is all or nothing. */
import { ConnectorError } from '../../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import { runQuery } from '../jobs.ts';
import type { Link } from '../link.ts';
import type { BigqueryColumn } from '../types/fields.ts';
import {
  deleteSql,
  insertSql,
  rowsParameter,
  scriptSql,
  upsertSql,
  type Script,
} from './statements.ts';
import { REQUEST_BYTES } from './stream.ts';

type Rows = readonly (readonly JsonValue[])[];

/** Rows have the values of the columns, or of the key, in their order. */
export type Step =
  | {
      readonly kind: 'insert' | 'upsert';
      readonly columns: readonly BigqueryColumn[];
      readonly key: readonly BigqueryColumn[];
      readonly rows: Rows;
    }
  | { readonly kind: 'delete'; readonly key: readonly BigqueryColumn[]; readonly rows: Rows };

export interface Sending {
  readonly what: string;
  /** As it stands in statements. */
  readonly table: string;
  /** Rows of a request; 0: all. */
  readonly most: number;
  /** Statements at the end, which are one unit with all that is before them. */
  readonly ending?: Script;
}

interface Part {
  readonly step: Step;
  readonly rows: Rows;
  readonly bytes: number;
}

export async function sendScripts(
  link: Link,
  steps: readonly Step[],
  sending: Sending,
): Promise<void> {
  const { ending, most, what } = sending;
  const parts = steps.flatMap(roundsOf).flatMap((step) => cut(step, most));
  const isWhole = ending !== undefined || most === 0;
  const groups = isWhole ? [parts] : grouped(parts, most);
  if (isWhole && sizeOf(parts) > REQUEST_BYTES) throw tooLarge(ending !== undefined);
  for (const group of groups) {
    const script = scriptOf(group, sending);
    await runQuery(link, what, {
      sql: scriptSql(script.statements, ending !== undefined),
      parameters: script.parameters,
    });
  }
}

function scriptOf(parts: readonly Part[], { table, ending }: Sending): Script {
  const statements = parts.map(({ step }, at) => statementOf(step, table, `svc_rows_${at}`));
  const parameters = parts.map(({ rows }, at) =>
    rowsParameter(`svc_rows_${at}`, rows as JsonValue[]),
  );
  return {
    statements: [...statements, ...(ending?.statements ?? [])],
    parameters: [...parameters, ...(ending?.parameters ?? [])],
  };
}

function statementOf(step: Step, table: string, parameter: string): string {
  switch (step.kind) {
    case 'insert':
      return insertSql(table, step.columns, parameter);
    case 'upsert':
      return upsertSql(table, step, parameter);
    case 'delete':
      return deleteSql(table, step.key, parameter);
    default:
      return step satisfies never;
  }
}

/**
 * A statement must not have two rows of one key: keys that are told apart as texts can be the same
 * value of their column. The second one comes with a statement of its own, after the first.
 */
function roundsOf(step: Step): Step[] {
  if (step.kind === 'insert') return [step];
  const columns = step.kind === 'upsert' ? step.columns : step.key;
  const places = step.key.map(({ name }) => columns.findIndex((column) => column.name === name));
  const seen = new Map<string, number>();
  const rounds: (readonly JsonValue[])[][] = [];
  for (const row of step.rows) {
    const id = stringifyJson(places.map((place) => row[place] ?? null));
    const round = seen.get(id) ?? 0;
    seen.set(id, round + 1);
    (rounds[round] ??= []).push(row);
  }
  const needed = step.kind === 'delete' ? rounds.slice(0, 1) : rounds;
  return needed.map((rows) => ({ ...step, rows }));
}

/** Rows of one step, at most so many together and not more than a request holds. */
function cut(step: Step, most: number): Part[] {
  const parts: Part[] = [];
  let rows: (readonly JsonValue[])[] = [];
  let bytes = 0;
  for (const row of step.rows) {
    // The list of rows is a text in the JSON of the request.
    const size = Buffer.byteLength(JSON.stringify(stringifyJson(row as JsonValue[]))) + 1;
    const isFull =
      rows.length > 0 && most > 0 && (rows.length === most || bytes + size > REQUEST_BYTES);
    if (isFull) {
      parts.push({ step, rows, bytes });
      [rows, bytes] = [[], 0];
    }
    rows.push(row);
    bytes += size;
  }
  if (rows.length > 0) parts.push({ step, rows, bytes });
  if (most > 0 && parts.some((part) => part.bytes > REQUEST_BYTES)) throw tooLarge(false);
  return parts;
}

/** What fits into one request goes with one: it is all or nothing, and one job. */
function grouped(parts: readonly Part[], most: number): Part[][] {
  const groups: Part[][] = [];
  for (const part of parts) {
    const group = groups.at(-1);
    const fits =
      group !== undefined &&
      sizeOf(group) + part.bytes <= REQUEST_BYTES &&
      group.reduce((sum, { rows }) => sum + rows.length, part.rows.length) <= most;
    if (fits) group.push(part);
    else groups.push([part]);
  }
  return groups;
}

function sizeOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

function tooLarge(isCommitted: boolean): ConnectorError {
  return new ConnectorError('data', 'the records do not fit into one request of 10 MB', {
    hint: isCommitted
      ? 'a page and its watermark are one transaction: make pages smaller with `batch_size` of the source'
      : 'set `batch_size`: pages are then cut into several requests. A record must be smaller than 10 MB',
  });
}
