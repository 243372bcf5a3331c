/** What a sample meets in its destination, as JSON and as text: probes, columns, differences. */
import type { SeenColumns, SeenDestination } from '../../engine/checks/look-at-destination.ts';
import { DRIFT_WORDS } from '../../blocks/schema-drift/explain.ts';
import type { SchemaDriftConfig } from '../../blocks/schema-drift/schema.ts';
import { governanceOf } from '../../engine/stages/governance.ts';
import { hasDrift, type Drift, type PageColumn } from '../../engine/stages/drift-columns.ts';
import type { SampleTrace } from '../../engine/preview/trace-stages.ts';
import type { Probe } from '../../kit/probe.ts';
import type { ColumnType, DestinationColumn } from '../../kit/sink.ts';
import { count } from '../../lib/text/count.ts';
import type { PlannedRow } from '../../plan/plan.ts';

type Compared = Pick<SampleTrace, 'columns' | 'drift'>;

/** `sink_schema` and `schema_delta` of a sample. */
export function destinationDocument(
  seen: SeenColumns,
  compared: Compared,
): Record<string, unknown> {
  switch (seen.are) {
    case 'known':
      return {
        sink_schema: seen.destination.columns.map((column) => ({
          name: column.name,
          types: column.types,
          nullable: column.nullable,
          has_default: column.hasDefault === true,
        })),
        schema_delta: deltaOf(seen.destination.columns, compared),
      };
    case 'absent':
      return { sink_schema: null, schema_delta: deltaOf([], NOTHING) };
    case 'schemaless':
      return { schema_delta: { ...deltaOf([], NOTHING), schemaless_sink: true } };
    case 'unknown':
      return { schema_delta: null };
    default:
      return seen satisfies never;
  }
}

const NOTHING: Compared = { columns: [], drift: undefined };
const NO_DRIFT: Drift = { added: [], widened: [], incompatible: [], onlyNull: [], missing: [] };

function deltaOf(
  destination: readonly DestinationColumn[],
  { columns, drift = NO_DRIFT }: Compared,
): Record<string, unknown> {
  const typesThere = (name: string) => destination.find((one) => one.name === name)?.types ?? [];
  return {
    schemaless_sink: false,
    additions: drift.added.map(({ name, type }) => ({ name, type })),
    widenings: drift.widened.map(({ name, type, relaxNull }) => ({
      name,
      from: typesThere(name),
      to: type ?? null,
      becomes_nullable: relaxNull,
    })),
    incompatible: drift.incompatible.map((name) => ({
      name,
      sink_types: typesThere(name),
      record_types: typesIn(columns, name),
      only_null: drift.onlyNull.includes(name),
    })),
    droppable_required: drift.missing,
  };
}

/** Fields have the names of their columns but for the case of their letters. */
function typesIn(columns: readonly PageColumn[], name: string): ColumnType[] {
  const like = (one: PageColumn): boolean => one.name.toLowerCase() === name.toLowerCase();
  const found = columns.find((one) => one.name === name) ?? columns.find(like);
  return [...(found?.types ?? [])];
}

export interface DestinationLine {
  readonly text: string;
  readonly isError?: true;
}

export function destinationLines(
  row: PlannedRow,
  { probes, columns: seen }: SeenDestination,
  compared: Compared,
): DestinationLine[] {
  const passed = probes.filter(({ status }) => status === 'pass').map(({ name }) => name);
  const others = probes.filter(({ status }) => status !== 'pass');
  return [
    ...(passed.length === 0 ? [] : [{ text: `sink probe: ${passed.join(', ')} passed` }]),
    ...others.map(probeLine),
    ...columnLines(row, seen, compared),
  ];
}

function probeLine({ name, status, reason, hint }: Probe): DestinationLine {
  const why = `${reason ?? ''}${hint === undefined ? '' : ` (${hint})`}`;
  return status === 'fail'
    ? { text: `sink probe: ${name} failed: ${why}`, isError: true }
    : { text: `sink probe: ${name} skipped: ${why}` };
}

function columnLines(row: PlannedRow, seen: SeenColumns, compared: Compared): DestinationLine[] {
  switch (seen.are) {
    case 'schemaless':
      return [{ text: `destination: ${row.sink.type} has no columns to compare with` }];
    case 'absent':
      return [{ text: 'destination: it is not there yet, so there is nothing to compare with' }];
    case 'unknown':
      return seen.error === undefined ? [] : [{ text: seen.error, isError: true }];
    case 'known': {
      const { columns } = seen.destination;
      return [
        { text: `destination: ${count(columns.length, 'column')}: ${namesOf(columns)}` },
        ...differences(columns, compared).map((text) => ({ text: `  ${text}` })),
        ...outcomeLines(row, compared),
      ];
    }
    default:
      return seen satisfies never;
  }
}

const MOST_NAMES = 20;

function namesOf(columns: readonly DestinationColumn[]): string {
  const names = columns.slice(0, MOST_NAMES).map(({ name, types: [own] }) => `${name} ${own}`);
  const more = columns.length - names.length;
  return `${names.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

function differences(
  destination: readonly DestinationColumn[],
  { columns, drift }: Compared,
): string[] {
  if (drift === undefined) return [];
  // A column has its own type first, then those that it takes as well.
  const there = (name: string): string =>
    destination.find((one) => one.name === name)?.types[0] ?? '';
  const wider = ({ name, type, relaxNull }: Drift['widened'][number]): string =>
    [
      type === undefined ? name : `${name} (${there(name)} → ${type})`,
      ...(relaxNull ? ['has null'] : []),
    ].join(' ');
  const misfit = (name: string): string =>
    drift.onlyNull.includes(name)
      ? `${name} (null, and none is taken there)`
      : `${name} (${typesIn(columns, name).join(' or ')}, there ${there(name)})`;
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['not there', drift.added.map(({ name, type }) => `${name} (${type})`)],
    ['wider than there', drift.widened.map(wider)],
    ['does not fit', drift.incompatible.map(misfit)],
    ['required there, in no record', drift.missing],
  ];
  return lists.flatMap(([title, names]) =>
    names.length === 0 ? [] : [`${title}: ${names.join(', ')}`],
  );
}

/** What a run does about the differences. */
function outcomeLines(row: PlannedRow, { drift }: Compared): DestinationLine[] {
  if (drift === undefined) return [];
  if (!hasDrift(drift)) return [{ text: '  all fields fit' }];
  const { schema: policy } = governanceOf(row);
  const text =
    policy === undefined
      ? '  The document has no `schema`, so the sink alone decides what becomes of that.'
      : `  ${DRIFT_WORDS[policy.on_drift]}`;
  return [{ text }, ...(isRefused(drift, policy) ? [{ text: REFUSED }] : [])];
}

const REFUSED = '  The destination refuses records without its required columns.';

/** Whether records come to a destination that takes them only with the columns that they lack. */
function isRefused({ missing }: Drift, policy: SchemaDriftConfig | undefined): boolean {
  if (missing.length === 0) return false;
  if (policy === undefined) return true;
  const { on_drift: drift, relax_nullability_on_missing: relaxes } = policy;
  return drift === 'evolve' ? !relaxes : drift === 'warn' || drift === 'ignore';
}
