/** The columns that records get just before the sink takes them. */
import {
  metadataColumnsOf,
  type MetadataColumnsSpec,
  type NamedColumn,
} from '../blocks/metadata-columns/schema.ts';
import type { RollbackConfig } from '../blocks/rollback/schema.ts';
import type { IssueList } from './issue-list.ts';

const DEFAULT_PREFIX = '_svc';

/** The columns every record gets: with `rollback` the id of the run is among them. */
export function stampedColumns(
  metadata: MetadataColumnsSpec | undefined,
  rollback: RollbackConfig | undefined,
  issues: IssueList,
): readonly NamedColumn[] | undefined {
  const columns = metadata === undefined ? undefined : metadataColumnsOf(metadata);
  if (rollback?.enabled !== true) return columns;
  if (metadata?.enabled === false) {
    const message =
      '`rollback` finds the rows of a run by its id, which `metadata_columns` does not add';
    issues.error(
      'rollback_unreachable',
      'metadata_columns.enabled',
      message,
      'remove `enabled: false`, or `rollback`',
    );
  }
  if (columns?.some(({ column }) => column === 'run_id') === true) return columns;
  return [
    ...(columns ?? []),
    { column: 'run_id', name: `${metadata?.prefix ?? DEFAULT_PREFIX}_run_id` },
  ];
}
