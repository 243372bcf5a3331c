/** Whether a run could read the changes; nothing is made, and no change is taken. */
import type { SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { asking } from './anchor.ts';
import type { MongodbCdcConfig } from './config.ts';
import { linkTo } from './link.ts';

export async function probeMongodbCdc(
  config: MongodbCdcConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  const link = linkTo(config, context);
  try {
    await link.run('connection failed', (db) => db.admin().command({ ping: 1 }));
  } catch (error) {
    context.signal.throwIfAborted();
    return [failed('connection', error, 'check the hosts of `connection_uri`')];
  } finally {
    await link.close();
  }
  const connection: ProbeFinding = { name: 'connection', status: 'pass' };
  try {
    await asking({ config, position: undefined, from: 'start_from' }, context, () => {});
    return [connection, { name: 'topology', status: 'pass' }];
  } catch (error) {
    context.signal.throwIfAborted();
    const hint = 'the user needs the actions `find` and `changeStream`, as in the role `read`';
    return [connection, failed('topology', error, hint)];
  }
}

function failed(name: string, error: unknown, usual: string): ProbeFinding {
  const hint = (error instanceof AppError ? error.hint : undefined) ?? usual;
  return { name, status: 'fail', reason: messageOf(error), hint };
}
