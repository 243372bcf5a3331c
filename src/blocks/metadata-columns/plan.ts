import type { Placed } from '../../document/parse/read-blocks.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { BlockTools, Fact, RecordReader } from '../define-block.ts';
import { metadataColumnsOf, type MetadataColumnsSpec, type NamedColumn } from './schema.ts';

export interface MetadataColumnsOfRow {
  /** Fields that records get just before the sink takes them. */
  readonly metadataColumns: readonly NamedColumn[] | undefined;
}

export interface AssembledMetadataColumns {
  readonly metadataColumns?: readonly NamedColumn[] | undefined;
  /** The column that every record gets with the id of its run, if there is one. */
  readonly runIdColumn?: string | undefined;
}

const DEFAULT_PREFIX = '_svc';

/** Where another block needs the id of the run, it is among the columns. */
export function planMetadataColumns(
  given: Placed<MetadataColumnsSpec> | undefined,
  { needsRunId }: BlockTools,
): AssembledMetadataColumns {
  const metadataColumns = columnsOf(given?.value, needsRunId() !== undefined);
  const runId = metadataColumns?.find(({ column }) => column === 'run_id');
  return { metadataColumns, runIdColumn: runId?.name };
}

function columnsOf(
  metadata: MetadataColumnsSpec | undefined,
  withRunId: boolean,
): readonly NamedColumn[] | undefined {
  const columns = metadata === undefined ? undefined : metadataColumnsOf(metadata);
  if (!withRunId || columns?.some(({ column }) => column === 'run_id') === true) return columns;
  return [
    ...(columns ?? []),
    { column: 'run_id', name: `${metadata?.prefix ?? DEFAULT_PREFIX}_run_id` },
  ];
}

export function checkMetadataColumns(
  given: Placed<MetadataColumnsSpec> | undefined,
  { needsRunId, issues }: BlockTools,
): void {
  const need = needsRunId();
  if (need === undefined || given?.value.enabled !== false) return;
  issues.error(need.code, 'metadata_columns.enabled', need.message, need.hint);
}

export function readsForMetadataColumns({
  metadataColumns,
}: AssembledRow): RecordReader | undefined {
  return metadataColumns === undefined
    ? undefined
    : { why: '`metadata_columns` adds fields to every record', onColumns: false };
}

export function explainMetadataColumns({ metadataColumns }: MetadataColumnsOfRow): readonly Fact[] {
  if (metadataColumns === undefined) return [];
  const names = metadataColumns.map(({ name }) => name);
  const last = names.at(-1) ?? '';
  const listed = names.length <= 1 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
  return [{ topic: 'stamped', short: names.join(', '), words: `Each record gets ${listed}.` }];
}
