import { readsShares } from '../../kit/share.ts';
import { capabilitiesOf } from '../../kit/source.ts';
import type { PlannedRow } from '../../plan/plan.ts';

/** What is known of a row before a record moves; what depends on run-time tokens is absent. */
export interface RowFacts {
  readonly sourceUri: string | undefined;
  readonly sinkUri: string | undefined;
  readonly writeMode: string | undefined;
  readonly key: readonly string[];
  /** Whether the source says where it stands; what the next run needs to go on there. */
  readonly bookmarks: boolean | undefined;
  /** The next run goes on where this one stops. */
  readonly incremental: boolean;
}

export function factsOf(row: PlannedRow): RowFacts {
  const { source: from, sink: to } = row;
  const source =
    from.judged === undefined
      ? undefined
      : capabilitiesOf(from.definition, from.judged, readsShares(row.shard));
  const sink = to.judged === undefined ? undefined : to.definition.capabilities(to.judged);
  return {
    sourceUri: from.deferred ? undefined : from.definition.datasetUri(from.parsed),
    sinkUri: to.deferred ? undefined : to.definition.datasetUri(to.parsed),
    writeMode: sink?.writeMode,
    key: sink?.key ?? [],
    bookmarks: source?.bookmarks,
    incremental: row.state !== undefined && source?.bookmarks === true,
  };
}

export function laneName({ lane: { lane } }: PlannedRow): string {
  return lane.form === 'bytes' ? `bytes:${lane.encoding}` : lane.form;
}
