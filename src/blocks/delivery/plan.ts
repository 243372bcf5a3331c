/** What a row guarantees about repeated records, and whether its parts can keep it. */
import type { Placed } from '../../document/parse/read-blocks.ts';
import { isKeyed } from '../../kit/write-spec.ts';
import type { AssembledRow, UnjudgedRow } from '../../plan/assembled-row.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import type { Fact, RowPlace } from '../define-block.ts';
import type { Delivery } from './schema.ts';

/** Guarantee a row really gives, judged from its parts. */
export type Guarantee =
  | 'at-least-once'
  | 'effectively-once (keyed upsert)'
  | 'effectively-once (atomic watermark)';

export interface DeliveryOfRow {
  readonly delivery: Delivery;
  readonly guarantee: Guarantee;
  /** Its sink shows everything at the end, in the place of what was there. */
  readonly overwrites?: boolean;
  /** Its destination itself refuses that, and removals, to a server that lost the run. */
  readonly fenced?: boolean;
}

export function planDelivery(given: Placed<Delivery> | undefined, row: UnjudgedRow): DeliveryOfRow {
  const delivery = given?.value ?? 'at_least_once';
  return { delivery, guarantee: guaranteeOf(row, delivery) };
}

/**
 * Judged from the parts; watermarks are committed only where the document asks for `exactly_once`.
 */
function guaranteeOf(row: UnjudgedRow, delivery: Delivery): Guarantee {
  if (delivery === 'exactly_once' && limitOf(row) === undefined)
    return 'effectively-once (atomic watermark)';
  return isKeyedRow(row) ? 'effectively-once (keyed upsert)' : 'at-least-once';
}

export function checkDelivery(
  given: Placed<Delivery> | undefined,
  row: AssembledRow,
  { issues }: RowPlace,
): void {
  if (given?.value !== 'exactly_once') return;
  // A graph goes on from one position: what its sinks hold has to be known page by page, keyed or
  // not.
  if (row.writes === undefined || (isKeyedRow(row) && row.resolved.node === undefined)) return;
  const limit = limitOf(row);
  if (limit === undefined) return;
  issues.error(
    'exactly_once_unreachable',
    given.path,
    `${row.name} cannot deliver exactly once: ${limit}`,
    upsertHint(row),
  );
}

function isKeyedRow({ writes }: UnjudgedRow): boolean {
  return writes !== undefined && isKeyed(writes.writeMode) && writes.key.length > 0;
}

/** The first thing that an atomic watermark needs and the row does not have. */
function limitOf(row: UnjudgedRow): string | undefined {
  const { reads, writes, state, source, sink } = row;
  if (row.resolved.node?.exactlyOnceLimit !== undefined) return row.resolved.node.exactlyOnceLimit;
  if (writes?.writeMode === 'overwrite')
    return 'its sink replaces everything (`write_mode: overwrite`), and pages cannot be distinguished';
  if (reads?.replay !== 'positional')
    return `its source \`${source.plan.type}\` cannot be read again from an exact position`;
  if (writes?.token !== true)
    return `its sink \`${sink.plan.type}\` cannot store a watermark together with the records`;
  if (state === undefined) return 'it has no `state`';
  if (!state.plan.definition.durable)
    return `its state store \`${state.plan.type}\` does not survive the process`;
  if (row.dlq !== undefined) return 'it has a `dlq`, which is written apart from the records';
  return undefined;
}

function upsertHint({ resolved, writes, sink }: AssembledRow): string | undefined {
  if (writes?.writeModes.includes('upsert') !== true) return undefined;
  if (resolved.node !== undefined)
    return '`at_least_once` with `write_mode: upsert` and a `key` makes repeats harmless';
  return `give the sink \`${sink.plan.type}\` \`write_mode: upsert\` and a \`key\``;
}

const PROMISES: Readonly<Record<Guarantee, string>> = {
  'at-least-once':
    'No record is lost; after a crash, or when another server of a cluster takes the run over, some may be written a second time (at-least-once).',
  'effectively-once (keyed upsert)':
    'No record is lost, and one that is written a second time, after a crash or by another server of a cluster, only replaces itself (effectively-once, by key).',
  'effectively-once (atomic watermark)':
    'No record is lost and none is written twice: the destination stores the position together with the records (effectively-once, by watermark).',
};

/** What a server can still write when another one of its cluster has its run. */
const LATE_WRITES: Readonly<Record<Guarantee, Pick<Fact, 'short' | 'words'>>> = {
  'at-least-once': {
    short: 'a frozen server may end the one write that it had begun',
    words:
      'When another server of a cluster takes the run over, what the first one has written stays; one that was frozen may still end the one write that it had begun, which the destination cannot refuse.',
  },
  'effectively-once (keyed upsert)': {
    short: 'a frozen server may end the one write that it had begun, by key',
    words:
      'When another server of a cluster takes the run over, one that was frozen may still end the one write that it had begun: it replaces the rows with the same keys, by the values of then.',
  },
  'effectively-once (atomic watermark)': {
    short: 'the destination refuses pages of a server that lost the run',
    words:
      'When another server of a cluster takes the run over, the destination refuses every page of the first one.',
  },
};

type LateEnd = Readonly<Record<'fenced' | 'open', Pick<Fact, 'short' | 'words'>>>;

const LATE_OVERWRITE: LateEnd = {
  fenced: {
    short: 'the destination refuses the overwrite of a server that lost the run',
    words:
      'When another server of a cluster takes the run over, the destination refuses the last step of the overwrite to the first one: nothing that it wrote is ever shown.',
  },
  open: {
    short: 'a frozen server may end the overwrite that it had begun to end',
    words:
      'When another server of a cluster takes the run over, one that was frozen just before the last step of its overwrite may still do it; the other one replaces that when it ends.',
  },
};

const LATE_REMOVAL: LateEnd = {
  fenced: {
    short: 'the destination refuses removals of a server that lost the run',
    words: 'It also refuses to remove records that the first one has not seen.',
  },
  open: {
    short: 'a frozen server may remove what it has not seen',
    words:
      'One that was frozen just before it removes vanished records may still do it, by what it had read then.',
  },
};

export function explainDelivery({
  guarantee,
  overwrites = false,
  fenced = false,
  cleanUp,
}: DeliveryOfRow & Pick<PlannedRow, 'cleanUp'>): readonly Fact[] {
  const by = fenced ? 'fenced' : 'open';
  return [
    { topic: 'guarantee', short: guarantee, words: PROMISES[guarantee] },
    { topic: 'taken over', ...(overwrites ? LATE_OVERWRITE[by] : LATE_WRITES[guarantee]) },
    ...(cleanUp === undefined ? [] : [{ topic: 'taken over' as const, ...LATE_REMOVAL[by] }]),
  ];
}

export function planMembers({ delivery, guarantee, writes }: AssembledRow): DeliveryOfRow {
  return {
    delivery,
    guarantee,
    overwrites: writes?.writeMode === 'overwrite',
    fenced: writes?.fenced === true,
  };
}
