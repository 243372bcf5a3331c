import type { PartContext } from '../../kit/context.ts';
import { MongoLink } from '../../lib/mongodb/client.ts';
import type { MongodbCdcConfig } from './config.ts';

export function linkTo(
  { connection_uri: uri, scope }: MongodbCdcConfig,
  { signal, env }: Pick<PartContext, 'env' | 'signal'>,
): MongoLink {
  const database = scope.type === 'cluster' ? 'admin' : scope.database;
  return new MongoLink({ uri, database, signal, redactor: env.redactor });
}
