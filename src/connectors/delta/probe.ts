import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import type { DeltaSinkConfig } from './config.ts';
import { openFiles } from './open-files.ts';
import type { TableFiles } from '../_lake/table-files.ts';
import { requireWritable } from './log/protocol.ts';
import { loadSnapshot } from './log/snapshot.ts';
import type { TableConfig } from './place.ts';
import { noTable } from './read/source.ts';

/** Whether the table is there and can be read; of a sink, whether it can be written. */
export async function probeTable(
  config: TableConfig,
  context: PartContext,
  sink?: Pick<DeltaSinkConfig, 'create_table'>,
): Promise<ProbeFinding[]> {
  let files: TableFiles | undefined;
  try {
    files = await openFiles(config, context);
    const snapshot = await loadSnapshot(files);
    if (snapshot === undefined && sink?.create_table !== true) throw noTable(files.address);
    if (sink !== undefined) {
      if (snapshot !== undefined) requireWritable(snapshot, files.address);
      await files.tryWrite();
    }
    return [{ name: 'table', status: 'pass' }];
  } catch (error) {
    const hint = error instanceof ConnectorError ? error.hint : undefined;
    const found = { name: 'table', status: 'fail' as const, reason: messageOf(error) };
    return [hint === undefined ? found : { ...found, hint }];
  } finally {
    await files?.close();
  }
}
