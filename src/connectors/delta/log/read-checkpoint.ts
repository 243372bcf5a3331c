import { isObject, type JsonObject } from '../../../lib/text/json.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import { actionOf, type Action } from './actions.ts';
import { LOG_FOLDER, type CheckpointFiles } from './log-names.ts';
import { actionsIn } from './action-lines.ts';

const KINDS = ['protocol', 'metaData', 'add', 'remove', 'txn', 'domainMetadata', 'sidecar'];
const SIDECARS = `${LOG_FOLDER}_sidecars/`;

/** All actions of a checkpoint, with those of the files that it names. */
export async function* readCheckpoint(
  files: TableFiles,
  { names }: CheckpointFiles,
): AsyncGenerator<Action> {
  for (const name of names)
    for await (const action of actionsOf(files, LOG_FOLDER + name)) {
      if (action.is !== 'sidecar') yield action;
      else yield* actionsOf(files, SIDECARS + action.path);
    }
}

async function* actionsOf(files: TableFiles, path: string): AsyncGenerator<Action> {
  const where = files.address + path;
  if (path.endsWith('.json')) {
    const bytes = await files.read(path);
    if (bytes === undefined) throw new ConnectorError('missing', `${where} is gone`);
    yield* actionsIn(bytes, where);
    return;
  }
  const reader = await files.readParquet(path, {
    columns: (all) => all.map(({ element }) => element.name).filter((name) => KINDS.includes(name)),
    omitNulls: true,
  });
  try {
    for (let group = 0; group < reader.rowGroups; group += 1)
      for await (const rows of reader.rowGroup(group))
        for (const row of rows) {
          const action = actionOf(withoutParsed(row), where);
          if (action !== undefined) yield action;
        }
  } finally {
    await reader.close();
  }
}

/** What some writers add as columns stands in other fields as text. */
function withoutParsed(row: JsonObject): JsonObject {
  const { add } = row;
  if (!isObject(add)) return row;
  const { stats_parsed: _stats, partitionValues_parsed: _values, ...rest } = add;
  return { ...row, add: rest };
}
