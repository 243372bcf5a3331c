import type { SinkContext } from '../../../kit/context.ts';
import type { ProbeFinding } from '../../../kit/probe.ts';
import { AppError, messageOf } from '../../../lib/errors.ts';
import type { DynamodbSinkConfig } from '../config.ts';
import { openDynamodb, tableKey } from '../link.ts';
import { keyFault } from './key-fault.ts';

/** Whether the table is there, and has the key that the config names. Nothing is written. */
export async function probeTable(
  config: DynamodbSinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  const link = openDynamodb(config, context);
  const name = 'schema';
  try {
    const reason = keyFault(config, await tableKey(link, config.table_name));
    if (reason === undefined) return [{ name, status: 'pass' }];
    return [{ name, status: 'fail', reason, hint: 'name the fields of that key in `key`' }];
  } catch (error) {
    context.signal.throwIfAborted();
    const hint = error instanceof AppError ? error.hint : undefined;
    const advice = hint ?? 'check `table_name`, `region` and `credentials`';
    return [{ name, status: 'fail', reason: messageOf(error), hint: advice }];
  } finally {
    await link.close();
  }
}
