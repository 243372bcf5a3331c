/** What a page changes, as mutations of commits. */
import { ConnectorError, RecordError } from '../../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import type { LiveColumn, RefusedRow, RowSet, TableChange } from '../../_sql/driver.ts';
import { withRefusedRow } from '../../_sql/refused-row.ts';
import type { Mutation } from '../api.ts';
import type { Cell } from '../cells.ts';
import { ownColumn } from '../types/columns.ts';
import { encoderOf } from '../types/write-values.ts';

/** Spanner takes 80,000 with those of the indexes. */
const MOST_CELLS = 60_000;

/** One row; deletions have the values of the key alone. */
interface Step {
  readonly kind: 'insert' | 'insert_or_update' | 'delete';
  readonly columns: readonly string[];
  readonly values: readonly Cell[];
  /** The row is deleted in the same commit, before it is written. */
  readonly replaces?: readonly Cell[] | undefined;
}

export interface Steps {
  readonly steps: readonly Step[];
  readonly refused: readonly RefusedRow[];
}

/** In the order in which they take effect. */
export function stepsOf(change: TableChange): Steps {
  const steps: Step[] = [];
  const refused: RefusedRow[] = [];
  const encodeKey = rowEncoder(change.key, change.schema);
  const replaced = new Map(
    (change.deletesBefore ?? []).map((key) => {
      const cells = encodeKey(key);
      return [textOf(cells), cells];
    }),
  );
  const kind = change.mode === 'upsert' ? 'insert_or_update' : 'insert';
  for (const [set, { columns, rows }] of change.writes.entries()) {
    const encode = rowEncoder(columns, change.schema);
    const names = columns.map(({ name }) => name);
    const keyAt = change.key.map(({ name }) => names.indexOf(name));
    for (const [row, values] of rows.entries()) {
      try {
        const cells = encode(values);
        const key = textOf(keyAt.map((at) => cells[at] ?? null));
        steps.push({ kind, columns: names, values: cells, replaces: replaced.get(key) });
        replaced.delete(key);
      } catch (error) {
        if (change.partial !== true || !(error instanceof ConnectorError))
          throw withRefusedRow(error, row);
        refused.push({ set, row, error: new RecordError('Sink', error.message) });
      }
    }
  }
  for (const key of change.deletes)
    steps.push({ kind: 'delete', columns: [], values: encodeKey(key) });
  return { steps, refused };
}

const textOf = (cells: readonly Cell[]): string => stringifyJson(cells as JsonValue);

export function rowEncoder(
  columns: readonly LiveColumn[],
  schema: TableChange['schema'],
): (row: RowSet['rows'][number]) => readonly Cell[] {
  const encoders = columns.map((column) => encoderOf(ownColumn(column), schema));
  return (row) => encoders.map((encode, at) => encode(row[at] ?? null));
}

const cellsOf = ({ kind, values, replaces }: Step): number =>
  (kind === 'delete' ? 1 : values.length) + (replaces === undefined ? 0 : 1);

/** Those of one commit each; `most` is the number of rows in one, and 0 sets no bound. */
export function inCommits(steps: readonly Step[], most: number): (readonly Step[])[] {
  const commits: Step[][] = [];
  let cells = Infinity;
  for (const step of steps) {
    const more = cellsOf(step);
    const last = commits.at(-1);
    if (last === undefined || last.length === most || cells + more > MOST_CELLS) {
      commits.push([step]);
      cells = more;
    } else {
      last.push(step);
      cells += more;
    }
  }
  return commits;
}

/** For a page that is one commit. */
export function refuseLarge(steps: readonly Step[]): void {
  const cells = steps.reduce((sum, step) => sum + cellsOf(step), 0);
  if (cells <= MOST_CELLS) return;
  throw new ConnectorError(
    'refused',
    `a page changes ${cells} values, and one commit of Spanner takes ${MOST_CELLS} at most`,
    { hint: 'read smaller pages (`batch_size` of the source)' },
  );
}

/** Rows of one kind and of the same columns that follow each other are one mutation. */
export function mutationsOf(table: string, steps: readonly Step[]): Mutation[] {
  const groups: { readonly step: Step; readonly values: (readonly Cell[])[] }[] = [];
  const add = (step: Step): void => {
    const last = groups.at(-1);
    if (last?.step.kind === step.kind && last.step.columns === step.columns)
      last.values.push(step.values);
    else groups.push({ step, values: [step.values] });
  };
  for (const step of steps) {
    if (step.replaces !== undefined)
      add({ kind: 'delete', columns: NO_COLUMNS, values: step.replaces });
    add(step.kind === 'delete' ? { ...step, columns: NO_COLUMNS } : step);
  }
  return groups.map(({ step: { kind, columns }, values }) =>
    kind === 'delete'
      ? { delete: { table, key_set: { keys: values } } }
      : { [kind]: { table, columns, values } },
  );
}

const NO_COLUMNS: readonly string[] = [];
