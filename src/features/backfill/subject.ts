/**
 * What a backfill runs: one root row with the rows that run for its records, or a whole graph.
 */
import { withBlock } from '../../blocks/define-block.ts';
import { rollbackBlock } from '../../blocks/rollback/index.ts';
import { RefusedError } from '../../lib/errors.ts';
import { hasField, isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { replacedOutput } from '../../kit/sink.ts';
import { STATE_KEY } from '../../kit/state-store.ts';
import { rootSources } from '../../blocks/backfill/rules.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { refuse } from './units.ts';

export interface BackfillSubject {
  /** The row whose source reads the windows; of a graph, its first sink. */
  readonly row: PlannedRow;
  /** Tells backfills of one document apart: `orders`, `orders::eu`, `orders::into::archive`. */
  readonly name: string;
  /** Sink preset that replaces the row's own sink. */
  readonly into: string | undefined;
}

export function subjectOf(
  plan: Plan,
  wanted: { readonly row: string | undefined; readonly into: string | undefined },
): BackfillSubject {
  const { row: id, into } = wanted;
  const graph = plan.topology !== undefined;
  if (graph && (id !== undefined || into !== undefined)) {
    throw refuse(
      'a graph of nodes runs as a whole: it has no row to choose, and its nodes name their sinks',
      'leave out `--row` and `--into`',
    );
  }
  const roots = graph ? plan.rows.slice(0, 1) : rootRows(plan);
  const row = id === undefined ? onlyOne(roots) : rowCalled(id, roots);
  const name = [
    plan.name,
    ...(id === undefined || roots.length === 1 ? [] : [row.id]),
    ...(into === undefined ? [] : ['into', into]),
  ].join('::');
  return { row, name, into };
}

function rootRows(plan: Plan): PlannedRow[] {
  const all = { ...plan, rows: [...plan.rows, ...plan.unselected] };
  const ids = new Set(rootSources(all).map(({ id }) => id));
  return all.rows.filter(({ id }) => ids.has(id));
}

function onlyOne(roots: readonly PlannedRow[]): PlannedRow {
  const [row] = roots;
  if (row !== undefined && roots.length === 1) return row;
  throw refuse(
    `the document has ${roots.length} root rows: choose one`,
    `\`--row\` can be: ${roots.map(({ id }) => id).join(', ')}`,
  );
}

function rowCalled(id: string, roots: readonly PlannedRow[]): PlannedRow {
  const row = roots.find((one) => one.id === id);
  if (row !== undefined) return row;
  const known = roots.map((one) => one.id);
  throw refuse(`there is no root row \`${id}\``, suggestion(id, known, 'rows') ?? '');
}

/** The tree with another sink preset for a row. */
export function withSink(tree: JsonObject, { row, into }: BackfillSubject): JsonObject {
  if (into === undefined) return tree;
  const { matrix, pipeline } = tree;
  const presets = isObject(pipeline) && isObject(pipeline['sinks']) ? pipeline['sinks'] : {};
  const hasSingle = isObject(pipeline) && isObject(pipeline['sink']);
  const names = [...Object.keys(presets), ...(hasSingle ? ['default'] : [])];
  if (!names.includes(into))
    throw refuse(
      `there is no sink \`${into}\` in \`pipeline.sinks\``,
      suggestion(into, names, 'sinks') ?? 'declare it under `pipeline.sinks`',
    );
  if (Array.isArray(matrix) && matrix.length > 0) {
    return {
      ...tree,
      matrix: matrix.map((item, index) => (index === row.index ? withPreset(item, into) : item)),
    };
  }
  if (!isObject(pipeline) || !hasField(presets, into)) return tree;
  const { default: _replaced, ...others } = presets;
  return { ...tree, pipeline: { ...pipeline, sinks: others, sink: presets[into] ?? null } };
}

function withPreset(row: JsonValue, into: string): JsonValue {
  if (!isObject(row)) return row;
  const { type: _own, ...sink } = isObject(row['sink']) ? row['sink'] : {};
  return { ...row, sink: { ...sink, ref: into } };
}

/** Where the marker of a backfill is kept, and the bookmark of each of its units. */
export class StateKeys {
  readonly marker: string;
  readonly #prefix: readonly string[];
  readonly #hash: string;

  constructor(plan: Pick<Plan, 'name'>, subject: Pick<BackfillSubject, 'name'>, hash: string) {
    this.marker = `${plan.name}::__backfill__::${hash}`;
    const suffix = subject.name
      .slice(plan.name.length)
      .split('::')
      .filter((part) => part !== '');
    this.#prefix = [plan.name, 'backfill', ...suffix];
    this.#hash = hash;
    const longest = this.unit('YYYYMMDDTHHMMSSZ');
    if (STATE_KEY.test(longest) && STATE_KEY.test(this.marker)) return;
    throw new RefusedError('bad_config', `\`${longest}\` cannot be a state key`, {
      hint: 'give the document a shorter `name`, of letters and digits',
    });
  }

  unit(id: string): string {
    const [name = '', word = '', ...suffix] = this.#prefix;
    return [name, word, id, ...suffix].join('::');
  }

  /**
   * For the other rows: a new key for every backfill, and for every restart.
   */
  beside(id: string, restarts: number, row: string): string {
    return [this.unit(id), `${this.#hash}.${restarts}`, row].join('::');
  }
}

/**
 * The plan of one unit: only the rows of the backfill, under state keys that no other run uses.
 */
export function isolated(
  plan: Plan,
  subject: BackfillSubject,
  keyOf: (row: PlannedRow) => string,
): Plan {
  const rows =
    plan.topology === undefined
      ? familyOf(subject.row.id, [...plan.rows, ...plan.unselected])
      : plan.rows;
  const isProduct = rows.some(({ role }) => role === 'product');
  const fanOuts = isProduct ? plan.fanOuts : [];
  const known = new Set([...rows, ...fanOuts].map(({ id }) => id));
  return {
    ...plan,
    rows: rows.map((row) => ({
      ...onlyMarked(row),
      readsAnew: row.id !== subject.row.id && replaces(row),
      stateKey: keyOf(row),
      dependsOn: row.dependsOn.filter((id) => known.has(id)),
    })),
    fanOuts: fanOuts.map((row) => ({
      ...row,
      dependsOn: row.dependsOn.filter((id) => known.has(id)),
    })),
    unselected: [],
    unselectedFanOuts: [],
  };
}

/**
 * As with chunks, records of a unit carry the id of their run, but nothing is written to the
 * rollback log: `headgate rollback` finds runs by the state key of the row, which is not that of a
 * unit, so the log could neither be used nor deleted.
 */
function onlyMarked(row: PlannedRow): PlannedRow {
  return withBlock(row, rollbackBlock, undefined);
}

/**
 * Whether the row replaces what it wrote before. Then every attempt has to read its whole window:
 * the records before a stored position are gone.
 */
export function replaces({ sink: { definition, parsed, judged } }: PlannedRow): boolean {
  const config = judged ?? parsed;
  return config !== undefined && replacedOutput(definition, config) !== undefined;
}

/** A row and all its descendants. */
function familyOf(root: string, rows: readonly PlannedRow[]): PlannedRow[] {
  const family = new Set([root]);
  // A set grows while it is walked.
  for (const id of family) for (const row of rows) if (row.parent?.row === id) family.add(row.id);
  return rows.filter(({ id }) => family.has(id)).sort((one, other) => one.index - other.index);
}
