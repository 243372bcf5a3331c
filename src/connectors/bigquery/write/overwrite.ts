/** Replaces the rows of a table by staged ones. The table keeps its partitions, rights and options. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { runQuery } from '../jobs.ts';
import type { Link } from '../link.ts';
import { backticked } from '../../_google/backticked.ts';
import type { BigqueryColumn } from '../types/fields.ts';
import { firstText } from '../types/read-values.ts';
import { encoderOf } from '../types/write-values.ts';
import { insideSql, rowsParameter, scriptSql } from './statements.ts';
import type { HeldScope } from '../../../kit/execution.ts';
import type { QueryParameter } from '../query-parameter.ts';
import type { Tokens } from './tokens.ts';

export interface Tables {
  readonly link: Link;
  columns(this: void, table: string): Promise<readonly BigqueryColumn[] | undefined>;
  /** As it stands in statements. */
  nameOf(this: void, table: string): string;
}

export interface Replacement {
  readonly table: string;
  readonly staging: string;
  readonly window?:
    | { readonly column: string; readonly from: JsonValue; readonly to: JsonValue }
    | undefined;
}

export async function replaceRows(
  tables: Tables,
  replacement: Replacement,
  { tokens, held }: { readonly tokens: Tokens; readonly held: HeldScope | undefined },
): Promise<void> {
  const { link, columns, nameOf } = tables;
  const { table, staging } = replacement;
  const what = `replacing \`${table}\``;
  const live = await columns(table);
  if (live === undefined) {
    await checkWindow(tables, replacement, await columns(staging));
    // No transaction takes this. Whoever takes the scope behind the question drops the table.
    if (held !== undefined) await tokens.assertHeld(held);
    const sql = `ALTER TABLE ${nameOf(staging)} RENAME TO ${backticked(table)}`;
    await runQuery(link, what, { sql });
    return;
  }
  const window = await checkWindow(tables, replacement, live);
  const staged = new Set((await columns(staging))?.map(({ name }) => name));
  const names = live.map(({ name }) => name).filter((name) => staged.has(name));
  const list = names.map(backticked).join(', ');
  const target = nameOf(table);
  const clear =
    window === undefined
      ? `TRUNCATE TABLE ${target}`
      : `DELETE FROM ${target} WHERE ${window.inside}`;
  const fill = `INSERT INTO ${target} (${list}) SELECT ${list} FROM ${nameOf(staging)}`;
  const bounds = window === undefined ? [] : [window.bounds];
  const fence = held === undefined ? undefined : tokens.hold(held);
  const [before, after] = fence === undefined ? [[], []] : [[fence.before], [fence.after]];
  await runQuery(link, what, {
    sql: scriptSql([...before, clear, fill, ...after], true),
    parameters: [...bounds, ...(fence?.parameters ?? [])],
  });
}

interface Window {
  readonly inside: string;
  readonly bounds: QueryParameter;
}

/** Fails where a staged row is outside of the window that is replaced. */
async function checkWindow(
  { link, nameOf }: Tables,
  { table, staging, window }: Replacement,
  live: readonly BigqueryColumn[] | undefined,
): Promise<Window | undefined> {
  if (window === undefined) return undefined;
  const column = live?.find(({ name }) => name === window.column);
  if (column === undefined)
    throw new ConnectorError(
      'missing',
      `\`${table}\` has no column \`${window.column}\`, which \`scope.window\` names`,
      {
        hint: `it has: ${(live ?? []).map(({ name }) => name).join(', ')}`,
      },
    );
  const encode = encoderOf(column, 'payload', undefined);
  const bounds = rowsParameter('svc_window', [encode(window.from), encode(window.to)]);
  const inside = insideSql(column, 'svc_window');
  const { rows } = await runQuery(link, 'counting the records outside of the window', {
    sql: `SELECT CAST(COUNT(*) AS STRING) AS n FROM ${nameOf(staging)} WHERE (${inside}) IS NOT TRUE`,
    parameters: [bounds],
  });
  const count = rows[0] === undefined ? '0' : firstText(rows[0]);
  if (count === '0') return { inside, bounds };
  throw new ConnectorError(
    'data',
    `${count} records are outside the window of \`${window.column}\` that is replaced`,
    { hint: 'widen `scope.window`, or filter the records' },
  );
}
