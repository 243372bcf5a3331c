/**
 * Many changes at once, for a database that is asked over a network: scripts that touch different
 * things go step by step together, and equal statements of a step become one.
 */
import type { SqlResult, SqlScript, SqlStatement, SqlValue } from '../sql/sql-store.ts';

/** Changes of one transaction. */
const MOST_CHANGES = 500;
/** Rows of one statement. */
const MOST_ROWS = 5000;

/**
 * Takes from the queue what may be done together: each write that touches nothing of those before
 * it, whether these are taken or stay. One of which nothing is known is done alone, in its turn.
 */
export function takeWave<W extends { readonly touches?: readonly string[] | undefined }>(
  queue: W[],
): W[] {
  const [first] = queue;
  if (first?.touches === undefined) return queue.splice(0, 1);
  const touched = new Set<string>();
  const wave: W[] = [];
  const left: W[] = [];
  for (const [at, write] of queue.entries()) {
    const { touches } = write;
    if (touches === undefined || wave.length === MOST_CHANGES) {
      left.push(...queue.slice(at));
      break;
    }
    (touches.some((name) => touched.has(name)) ? left : wave).push(write);
    for (const name of touches) touched.add(name);
  }
  queue.splice(0, queue.length, ...left);
  return wave;
}

/** Does the statements in their order. */
export type Execute = (statements: readonly SqlStatement[]) => Promise<readonly SqlResult[]>;

/** Gives the result of each script. */
export async function runTogether(
  scripts: readonly SqlScript<unknown>[],
  execute: Execute,
): Promise<readonly unknown[]> {
  const values: unknown[] = [];
  let active = scripts.map((script, index) => ({ script, index, step: script.next() }));
  for (;;) {
    active = active.filter(({ index, step }) => {
      if (step.done === true) values[index] = step.value;
      return step.done !== true;
    });
    if (active.length === 0) return values;
    const steps = active.map(({ step }) => (step.done === true ? [] : step.value));
    const results = await execute(steps.flat());
    let from = 0;
    active = active.map(({ script, index }, n) => {
      const given = results.slice(from, (from += steps[n]?.length ?? 0));
      return { script, index, step: script.next(given) };
    });
  }
}

/** One statement for the database, and which of the asked ones it answers. */
export interface MergedStatement {
  readonly sql: string;
  readonly values: readonly (SqlValue | readonly SqlValue[])[];
  readonly answers: readonly number[];
  readonly resultOf: (n: number, result: SqlResult) => SqlResult;
}

/** Equal statements that can be one are done where the first of them stands. */
export function mergeStatements(statements: readonly SqlStatement[]): readonly MergedStatement[] {
  const groups: number[][] = [];
  const open = new Map<string, number[]>();
  for (const [index, { sql, many }] of statements.entries()) {
    let group = many === undefined ? undefined : open.get(sql);
    if (group === undefined || group.length === MOST_ROWS) {
      group = [];
      groups.push(group);
      open.set(sql, group);
    }
    group.push(index);
  }
  return groups
    .flatMap((group) => (isWorthMerging(statements, group) ? [group] : group.map((one) => [one])))
    .map((group) => mergeGroup(statements, group));
}

function isWorthMerging(statements: readonly SqlStatement[], group: readonly number[]): boolean {
  return group.length >= (statements[group[0] ?? 0]?.many?.atLeast ?? 0);
}

function mergeGroup(statements: readonly SqlStatement[], answers: number[]): MergedStatement {
  const rows = answers.map((index) => statements[index]?.values ?? []);
  const first = statements[answers[0] ?? 0];
  const many = first?.many;
  if (first === undefined || many === undefined || rows.length === 1)
    return {
      sql: first?.sql ?? '',
      values: rows[0] ?? [],
      answers,
      resultOf: (_, result) => result,
    };
  const { keyAt } = many;
  const columns = first.values.map((_, column) => rows.map((row) => row[column] ?? null));
  let changed: ReadonlySet<unknown> | undefined;
  return {
    sql: many.sql,
    values: columns,
    answers,
    resultOf(n, result) {
      if (keyAt === undefined) return { rows: [], changed: 1 };
      changed ??= new Set(result.rows.map((row) => row['key']));
      return { rows: [], changed: changed.has(rows[n]?.[keyAt]) ? 1 : 0 };
    },
  };
}
