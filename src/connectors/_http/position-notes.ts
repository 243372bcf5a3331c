/** What the log says about the position of an incremental read. */
import { MOST_SEEN } from '../../kit/stored-bookmark.ts';
import type { Log } from '../../lib/log.ts';
import type { Progress } from './positions.ts';

export function warnForgetful(log: Log, row: string): void {
  log.warn('no position is kept, because `state_key` is not set', { row });
}

export function warnMany(log: Log, key: string | undefined): void {
  log.warn(
    'more records share the last value of the replication key than a bookmark can hold: those that come later with that value are not read',
    { replication_key: key, most: MOST_SEEN },
  );
}

export function warnIncomparable(log: Log, key: string | undefined, progress: Progress): void {
  progress.incomparable = false;
  log.warn(
    'some values of the replication key are of another kind than the bookmark; their records are kept',
    { replication_key: key },
  );
}
