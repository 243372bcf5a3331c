/** What the commands of the group `state` share. */
import type { DocumentState } from '../../features/bookmarks/list-bookmarks.ts';
import type { StateRequest } from '../../features/bookmarks/stores.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { rowIds } from '../framework/offers.ts';
import { listenForStop } from '../framework/signals.ts';
import { listOption, type Values } from '../framework/option.ts';
import { OUTPUT_OPTION } from '../framework/shared-options.ts';

export const STATE_OPTIONS = {
  row: listOption({ value: 'ID', offers: rowIds, description: 'Only this row.' }),
  output: OUTPUT_OPTION,
  ...DOCUMENT_OPTIONS,
};

interface Given {
  readonly config: string | undefined;
  readonly options: Values<typeof STATE_OPTIONS>;
}

export async function stateRequest(
  context: CliContext,
  { config, options }: Given,
): Promise<Omit<StateRequest, 'signal'>> {
  const { loadPlan } = await import('../documents/load-plan.ts');
  const { plan, parts } = await loadPlan(context, { config, completion: options });
  return { plan, parts, env: context.env, rows: options.row };
}

interface Found {
  readonly found: DocumentState;
  readonly now: Date;
}

/** What is stored; undefined when it was printed as JSON, as asked. */
export async function foundState(context: CliContext, given: Given): Promise<Found | undefined> {
  const { listBookmarks } = await import('../../features/bookmarks/list-bookmarks.ts');
  const request = await stateRequest(context, given);
  const { terminal, world } = context;
  using stops = listenForStop(world, 'cancel', () => {});
  const found = await listBookmarks({ ...request, signal: stops.signal });
  const now = world.clock.now();
  if (given.options.output === 'text') return { found, now };
  terminal.json(stateDocument(request.plan.name, found, now));
  return undefined;
}

function stateDocument(name: string, { rows, others }: DocumentState, now: Date): unknown {
  return {
    pipeline: name,
    rows: rows.map(({ row, bookmarks }) => ({
      row: row.id,
      state: row.state?.type ?? null,
      delivery: row.delivery,
      bookmarks: bookmarks.map((one) => ({
        key: one.key,
        part: one.part ?? null,
        bookmark: one.bookmark,
        ...(one.commit === undefined ? {} : { commit: one.commit }),
        ...stored(one.at, now),
      })),
    })),
    others: others.map(({ key, row, kind, at, value }) => ({
      key,
      row: row?.id ?? null,
      kind,
      value,
      ...stored(at, now),
    })),
  };
}

function stored(at: Date | undefined, now: Date): Readonly<Record<string, unknown>> {
  return {
    stored_at: at?.toISOString() ?? null,
    age_secs: at === undefined ? null : ageSecs(at, now),
  };
}

function ageSecs(at: Date, now: Date): number {
  return Math.max(0, Math.round((now.getTime() - at.getTime()) / 1000));
}

const UNITS = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
] as const;

/** `3 hours ago` */
export function ago(at: Date | undefined, now: Date): string {
  if (at === undefined) return 'not known when';
  const secs = ageSecs(at, now);
  const [size, unit] = UNITS.find(([least]) => secs >= least) ?? [1, 'second'];
  const number = Math.floor(secs / size);
  return `${number} ${unit}${number === 1 ? '' : 's'} ago`;
}
