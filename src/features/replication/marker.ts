/** How far a replication has come, kept in the state store of its row. */
import { AppError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export interface Marker {
  /** `snapshot`: the rows are not all there yet; `stream`: they are, and changes follow. */
  readonly phase: 'snapshot' | 'stream';
  /** Where the changes begin: taken before the first row of the snapshot was read. */
  readonly anchor: JsonValue;
  /** RFC 3339. */
  readonly started_at: string;
  readonly snapshot_finished_at?: string;
}

export function markerKey(pipeline: string): string {
  return `${pipeline}::__replication__`;
}

/** Throws `AppError` where something else stands in its place. */
export function readMarker(key: string, stored: JsonValue | undefined): Marker | undefined {
  if (stored === undefined) return undefined;
  if (isObject(stored)) {
    const { phase, anchor, started_at: started, snapshot_finished_at: finished } = stored;
    const isPhase = phase === 'snapshot' || phase === 'stream';
    if (isPhase && anchor !== undefined && typeof started === 'string')
      return {
        phase,
        anchor,
        started_at: started,
        ...(typeof finished === 'string' ? { snapshot_finished_at: finished } : {}),
      };
  }
  throw new AppError(
    'bad_marker',
    `what is stored under \`${key}\` is not a record of a replication`,
    { hint: '`--restart` begins anew, with a snapshot' },
  );
}

export function markerValue(marker: Marker): JsonObject {
  return { ...marker };
}
