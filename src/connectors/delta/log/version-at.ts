/** Which version a table had at a time. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import { listWholeLog, loadSnapshot, readCommit } from './snapshot.ts';

/**
 * The last version that was made at this time or before. The time of a commit is what it says of
 * itself where the table keeps such times, and otherwise that of its file.
 */
export async function versionAt(files: TableFiles, moment: number): Promise<number | undefined> {
  const log = await listWholeLog(files);
  if (log === undefined) return undefined;
  const latest = await loadSnapshot(files, log.latest);
  const tells = latest?.metadata.configuration['delta.enableInCommitTimestamps'] === 'true';
  const versions = [...log.commits.keys()].toSorted((a, b) => b - a);
  let later = Infinity;
  for (const version of versions) {
    const own = tells ? await timeIn(files, version) : undefined;
    const time = own ?? log.commits.get(version)?.getTime() ?? 0;
    // Clocks of writers differ: a version is never younger than the next one.
    later = Math.min(time, later);
    if (later <= moment) return version;
  }
  const first = new Date(later).toISOString();
  throw new ConnectorError(
    'missing',
    `the table ${files.address} has no version of that time: the oldest that its log knows is of ${first}`,
    { hint: 'choose a later `timestamp`' },
  );
}

async function timeIn(files: TableFiles, version: number): Promise<number | undefined> {
  for (const action of await readCommit(files, version)) {
    const time = action.is === 'commitInfo' ? action.info['inCommitTimestamp'] : undefined;
    if (typeof time === 'number') return time;
  }
  return undefined;
}
