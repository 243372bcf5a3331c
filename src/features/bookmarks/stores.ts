/** The state stores of a document, each opened once, and what they hold for its rows. */
import { partContext, openPart } from '../../engine/row/parts.ts';
import { wrapConnectorError } from '../../engine/failure.ts';
import { opening, tokensAt, type Opening } from '../../engine/rollback/find-run.ts';
import { isBelow, type StateEntry, type StateStore } from '../../kit/state-store.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Env } from '../../lib/env.ts';
import { RefusedError } from '../../lib/errors.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolvePart } from '../../plan/resolve.ts';

export interface StateRequest {
  readonly plan: Plan;
  readonly parts: Parts;
  readonly env: Env;
  readonly signal: AbortSignal;
  /** Only these rows; all when empty. */
  readonly rows: readonly string[];
}

/** What a stored value is for. */
export type StoredKind =
  | 'bookmark'
  | 'freshness'
  | 'rollback'
  | 'replication'
  | 'backfill'
  | 'other';

export interface StoredEntry extends StateEntry {
  /** Absent for what belongs to the document as a whole, or to no row of it. */
  readonly row: PlannedRow | undefined;
  /** Behind the key of the row: a record of its parent, a chunk, a shard; absent for the row itself. */
  readonly part: string | undefined;
  readonly kind: StoredKind;
}

export interface OpenStore {
  readonly store: StateStore;
  readonly type: string;
  readonly rows: readonly PlannedRow[];
  /** Of these rows and of the document, in the order of the keys. */
  readonly entries: () => Promise<readonly StoredEntry[]>;
}

/** Every row of the document, also those that a run would leave out, in declared order. */
export function rowsOf({ plan, rows: named }: Pick<StateRequest, 'plan' | 'rows'>): PlannedRow[] {
  const all = [...plan.rows, ...plan.unselected].toSorted((one, two) => one.index - two.index);
  const ids = all.map(({ id }) => id);
  for (const id of named)
    if (!ids.includes(id))
      throw new RefusedError('bad_config', `there is no row \`${id}\``, {
        hint: suggestion(id, ids) ?? `rows are: ${ids.slice(0, 10).join(', ')}`,
      });
  return named.length === 0 ? all : all.filter(({ id }) => named.includes(id));
}

/** Rows with equal stores share one. Rows without a store are in none. */
export async function openStores(
  request: StateRequest,
  closers: AsyncDisposableStack,
): Promise<readonly OpenStore[]> {
  const everyRow = rowsOf({ ...request, rows: [] });
  const wanted = new Set(rowsOf(request));
  const options = opening(request, request.env.ids.next());
  const shared = Map.groupBy(
    everyRow.filter(({ state }) => state !== undefined),
    ({ state }) => stringifyJson([state?.type ?? '', state?.config ?? null]),
  );
  const stores: OpenStore[] = [];
  for (const rows of shared.values()) {
    const mine = rows.filter((row) => wanted.has(row));
    const [first] = mine;
    if (first !== undefined) stores.push(await openStore(options, first, { rows, mine }, closers));
  }
  return stores;
}

async function openStore(
  options: Opening,
  row: PlannedRow,
  { rows, mine }: { readonly rows: readonly PlannedRow[]; readonly mine: readonly PlannedRow[] },
  closers: AsyncDisposableStack,
): Promise<OpenStore> {
  const { state } = row;
  if (state === undefined) throw new Error('cannot happen: a row without a state store has none');
  const config = resolvePart(state, tokensAt(options.env.clock.now()));
  const open = () => state.definition.open(config, partContext({ ...options, row }));
  const store = await openPart('State', state, open, closers);
  const isWhole = mine.length === rows.length;
  return {
    store,
    type: state.type,
    rows: mine,
    entries: async () => {
      try {
        const found = await store.entries(options.plan.name);
        return found
          .map((entry) => described(entry, { rows, name: options.plan.name }))
          .filter(({ row: owner }) => (owner === undefined ? isWhole : mine.includes(owner)));
      } catch (error) {
        throw wrapConnectorError('State', state.type, error);
      }
    },
  };
}

const OF_THE_DOCUMENT = [
  ['__replication__', 'replication'],
  ['__backfill__', 'backfill'],
  ['backfill', 'backfill'],
] as const;
const OF_A_ROW = /(?:^|::)__(sla|rollback)__(?:::|$)/;

function described(
  entry: StateEntry,
  { rows, name }: { readonly rows: readonly PlannedRow[]; readonly name: string },
): StoredEntry {
  const row = rows
    .filter(({ stateKey }) => isBelow(entry.key, stateKey))
    .toSorted((one, two) => two.stateKey.length - one.stateKey.length)[0];
  if (row === undefined) {
    const rest = entry.key.slice(name.length + 2);
    const known = OF_THE_DOCUMENT.find(([begin]) => isBelow(rest, begin));
    return { ...entry, row, part: undefined, kind: known?.[1] ?? 'other' };
  }
  const rest = entry.key.slice(row.stateKey.length + 2);
  const special = OF_A_ROW.exec(rest)?.[1];
  const kind = special === undefined ? 'bookmark' : special === 'sla' ? 'freshness' : 'rollback';
  return { ...entry, row, part: rest === '' ? undefined : rest, kind };
}
